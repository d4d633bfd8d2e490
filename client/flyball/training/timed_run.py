"""The part of a run that measures: times of sections, calls and waits, amounts and losses, added up for the report."""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident
from _weakref import ref
from time import perf_counter_ns

from flyball.training.adjustable_run import AdjustableRun
from flyball.training.allocator import peaks
from flyball.training.device_times import WHOLE_STEP, DeviceTimes, section_times
from flyball.training.figures import Figures, Names
from flyball.training.loss import LossReader
from flyball.training.parts import RunLevel, RunSection, ServiceCall
from flyball.training.progress import Progress
from flyball.training.texts import amount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.training.introduction import Introduction

_NEVER = 2**63
_MOST_CALLS = 1024  # that wait to be added up


class TimedRun(AdjustableRun):
    """The figures of one rank since its last report. Nothing that goes wrong here reaches the training."""

    __slots__ = (
        "_began",
        "_calls",
        "_draining",
        "_dropped",
        "_figures",
        "_loss",
        "_loss_due",
        "_marked",
        "_names",
        "_newest",
        "_progress",
        "_shares",
        "depth",
        "inner",
        "sampling",
        "thread",
        "times",
    )

    def __init__(self, introduction: Introduction, now: int, dropped: int) -> None:
        AdjustableRun.__init__(self, introduction)
        self.thread = get_ident()
        self.depth = 0  # open sections
        self.inner = 0  # time in sections inside of the open one
        self._names = Names()
        self._figures = Figures()
        self._progress = Progress(now)
        self._loss = LossReader()
        self._loss_due = 0
        self._newest: Callable[[], object | None] | None = None  # the newest loss, if it was left for later
        self.times = DeviceTimes()  # of a step a second, as a GPU measures them
        self.sampling: DeviceTimes | None = None  # the same, while such a step is measured
        self._shares: dict[str, float] | None = None  # of a sampled step, as the device measured it
        self._calls: list[tuple[str, int, bool]] = []
        self._draining = allocate_lock()
        self._began = 0  # of the step; 0: not yet known
        self._marked = now
        self._dropped = dropped

    @property
    def dropped(self) -> int:
        """Return how many values and names were dropped or cut, because they were not valid."""
        return self._dropped + self._names.dropped + self._loss.dropped

    def mark(self, name: object) -> None:
        """Count the time since the last mark, batch or step under a name. Call it after this part of the step."""
        try:
            now = perf_counter_ns()
            sections = self._figures.sections
            if name in sections:  # its names are clean, and so is one that equals them
                sections[name] += now - self._marked
            elif not self._figures.add_section(self._names.of(name), now - self._marked):
                self._dropped += 1
            self._marked = now
            if self.sampling is not None:
                self.sampling.mark(self._names.of(name))
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1

    def section(self, name: object) -> RunSection:
        """Return a context manager that counts the time of its block under a name."""
        return RunSection(self, name)

    def call(self, service: object) -> ServiceCall:
        """Return a context manager that counts a call to a service, its time, and whether it raised."""
        return ServiceCall(self, service)

    def level(self, name: object) -> RunLevel:
        """Return a level of a hierarchical learner. Its `add` counts what was learned there."""
        return RunLevel(self, name)

    # For modules of this package.

    def waited(self, nanoseconds: int) -> None:
        """Add waiting for input that ended just now and was measured elsewhere."""
        now = perf_counter_ns()
        self.add_wait(now - nanoseconds, now)

    def note_loss(self, loss: object) -> None:
        """Use a loss that is known between two steps."""
        try:
            self._note_loss(loss, perf_counter_ns())
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1

    def add_rest(self, *, throttled: int = 0, paused: int = 0, worked: int = 0) -> None:
        """Add nanoseconds in which the training rested until now. They belong to no step: the next one begins here.

        Those in which the device still worked before it rested belong to the last step.
        """
        self._figures.nanoseconds += worked
        self._figures.throttled += throttled
        self._figures.paused += paused
        self._began = self._marked = perf_counter_ns()
        if self.sampling is not None:
            self.times.restart()
            self.sampling = self.times if self.times.recording else None

    def add_oom_retry(self) -> None:
        """Count a step that was repeated because memory ran out."""
        self._figures.oom_retries += 1

    def add_dropped(self) -> None:
        """Count something that was not valid."""
        self._dropped += 1

    @property
    def step_seconds(self) -> float | None:
        """Return the recent duration of a step, if there was one."""
        return self._progress.step_seconds()

    def restart_clock(self) -> None:
        """Let the next step begin with the next batch or part. The time since the last one belongs to no step."""
        self._began = 0

    def add_wait(self, began: int, now: int) -> None:
        """Add waiting for input. Inside of a section it belongs to the section."""
        if not self._began:
            self._began = began
        if not self.depth:
            self._figures.waits += 1
            self._figures.wait += now - began
            self._marked = now
            if self.sampling is not None:
                self.sampling.mark(WHOLE_STEP)

    def add_section(self, name: object, taken: int, outer: int, now: int) -> None:
        """Add the time of a section that has ended."""
        try:
            own, self.inner = taken - self.inner, outer + taken
            self.depth -= 1
            if not self._began:
                self._began = self._marked = now - taken
            if not self.depth:  # without a mark inside, the next mark does not count the section
                self._marked = now if self._marked > now - taken else self._marked + taken
            known = self._names.of(name)
            if not self._figures.add_section(known, own):
                self._dropped += 1
            if self.sampling is not None:
                self.sampling.mark(known)
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1

    def section_of(self, service: object) -> str:
        """Return the name of the section for calls to a service."""
        return f"call {self._name_of(service)}"

    def add_call(self, service: object, taken: int, failed: bool) -> None:
        """Add a call. Threads may call this at the same time: adding to a list cannot be interrupted."""
        self._calls.append((self._name_of(service), taken, failed))
        if len(self._calls) >= _MOST_CALLS:
            self._drain_calls()

    def add_level(self, name: object, items: object, seconds: object) -> None:
        """Add the progress of a level."""
        try:
            learned, taken = amount(items), None if seconds is None else amount(seconds)
            if learned is None or not self._figures.add_level(self._names.of(name), learned, taken or 0.0):
                self._dropped += 1
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1

    def _name_of(self, name: object) -> str:
        try:
            return self._names.of(name)
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1
            return "unnamed"

    def _end_sample(self) -> None:
        self.sampling = None
        self.times.end()

    def _add_amounts(self, tokens: object, samples: object) -> None:
        figures = self._figures
        if tokens is not None:
            added = amount(tokens)
            if added is None:
                self._dropped += 1
            else:
                figures.tokens = added if figures.tokens is None else figures.tokens + added
        if samples is not None:
            added = amount(samples)
            if added is None:
                self._dropped += 1
            else:
                figures.samples = added if figures.samples is None else figures.samples + added

    def _note_loss(self, loss: object, now: int) -> None:
        """Read a loss between two reports, and the last one at the end. A reference would keep its graph in memory."""
        self._newest = None
        if now < self._loss_due:
            try:
                self._newest = ref(loss)
                return
            except TypeError:  # a number, which costs little to read
                pass
        else:
            self._loss_due = _NEVER
        self._loss.offer(loss)

    def _take_second(self, now: int) -> Figures:
        """Add the figures of the last second to the sums. Return them for the next report."""
        if self._calls:
            self._drain_calls()
        figures, self._figures = self._figures, Figures()
        progress = self._progress
        loss = self._loss.take()
        if loss is not None:
            progress.loss = loss
        if "torch" in sys.modules:
            progress.allocated_peak_bytes, progress.reserved_peak_bytes, _ = peaks()
            self._shares = self.times.take() or self._shares
        if self._shares is not None:
            figures.sections = section_times(figures.sections, figures.nanoseconds, figures.steps, self._shares)
        progress.add(now, figures)
        return figures

    def _drain_calls(self) -> None:
        """Add the calls that wait. One thread does it at a time; the others go on without waiting."""
        if not self._draining.acquire(False):
            return
        try:
            for _ in range(len(self._calls)):
                service, taken, failed = self._calls.pop()
                if not self._figures.add_calls(service, 1, taken, int(failed)):
                    self._dropped += 1
        finally:
            self._draining.release()


TimedRun.mark.__dict__["_torchdynamo_disable"] = True  # in a function that torch compiles, it runs as it is
