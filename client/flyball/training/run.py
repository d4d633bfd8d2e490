"""A run as a training script sees it: steps, their parts, and a report a second to the agent of the host."""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident
from _weakref import ref
from time import perf_counter_ns

from flyball.training import fork
from flyball.training.adjustable_run import AdjustableRun
from flyball.training.allocator import peaks
from flyball.training.device_times import WHOLE_STEP, DeviceTimes, section_times
from flyball.training.figures import Figures, Names
from flyball.training.loss import LossReader
from flyball.training.parts import MeasuredData, MeasuredIterator, RunLevel, RunSection, ServiceCall
from flyball.training.progress import Progress
from flyball.training.report_line import MAX_LINE_BYTES
from flyball.training.texts import amount, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self, TypeVar

    from flyball.training.introduction import Introduction
    from flyball.training.reporter import Reporter
    from flyball.training.run_summary import TrainingSummary

    Items = TypeVar("Items")

REPORT_NS = 1_000_000_000
_NEVER = 2**63
_MANY = 2**53  # beyond it, adding one to a float changes nothing
_MOST_CALLS = 1024  # that wait to be added up


class Run(AdjustableRun):
    """One rank of a training. Open it with `flyball.run`. Nothing that goes wrong here reaches the training."""

    __slots__ = (
        "_actions",
        "_began",
        "_calls",
        "_draining",
        "_dropped",
        "_due",
        "_figures",
        "_loss",
        "_loss_due",
        "_marked",
        "_names",
        "_newest",
        "_progress",
        "_report_ns",
        "_reporter",
        "_shares",
        "depth",
        "finished",
        "inner",
        "last_step",
        "measures_data",
        "sampling",
        "thread",
        "times",
    )

    def __init__(
        self,
        introduction: Introduction,
        reporter: Reporter,
        dropped: int = 0,
        report_ns: int = REPORT_NS,
    ) -> None:
        AdjustableRun.__init__(self, introduction)
        now = perf_counter_ns()
        self.last_step = 0
        self.measures_data = False  # the script measures waiting for input itself
        self.finished = False
        self.thread = get_ident()
        self.depth = 0  # open sections
        self.inner = 0  # time in sections inside of the open one
        self._reporter = reporter
        self._report_ns = report_ns
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
        self._actions: list[Callable[[Run], object]] = []
        self._began = 0  # of the step; 0: not yet known
        self._marked = now
        self._due = now
        self._dropped = dropped
        reporter.open(introduction.line(), now)

    @property
    def dropped(self) -> int:
        """Return how many values and names were dropped or cut, because they were not valid."""
        return self._dropped + self._names.dropped + self._loss.dropped

    @property
    def connected(self) -> bool:
        """Return True while the agent of this host is connected."""
        return self._reporter.connected

    def data(self, iterable: Items) -> Items:
        """Return the same items. The time until each arrives is counted as waiting for input.

        Length and attributes are those of the iterable. It is never touched, only iterated.
        """
        self.measures_data = True
        if hasattr(type(iterable), "__next__"):
            self.begin_epoch()  # an iterator is iterated once
            return MeasuredIterator(iterable, self)  # type: ignore[arg-type,return-value]  # it behaves like its argument
        if hasattr(type(iterable), "__iter__") or hasattr(type(iterable), "__getitem__"):
            return MeasuredData(iterable, self)  # type: ignore[return-value]  # it behaves like its argument
        self._dropped += 1
        return iterable

    def step(
        self, number: object = None, *, tokens: object = None, samples: object = None, loss: object = None
    ) -> None:
        """End a step. Everything since the last call was this step. The first call starts the clock.

        `number` is the number of the step if the run does not begin at 1. Numbers that go back start a new attempt.
        """
        try:
            now = perf_counter_ns()
            figures = self._figures
            if self._began:
                figures.steps += 1
                figures.nanoseconds += now - self._began
            self._began = self._marked = now
            if self.sampling is not None:
                self._end_sample()
            if number is None:
                self.last_step += 1
            else:
                self._go_to(number)
            if tokens.__class__ is int and samples is None and 0 <= tokens < _MANY:
                figures.tokens = tokens if figures.tokens is None else figures.tokens + tokens
            elif tokens is not None or samples is not None:
                self._add_amounts(tokens, samples)
            if loss is not None:
                if loss.__class__ is float:
                    self._progress.loss = loss
                else:
                    self._note_loss(loss, now)
            if now >= self._due:
                self._report(now)
            if self._actions:
                self._act()
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1

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

    def summary(self) -> TrainingSummary:
        """Return the progress of this process: recent and overall rates, time remaining, and what limits it."""
        from flyball.training.run_summary import summarize

        now = perf_counter_ns()
        self._close_second(now)
        return summarize(self, self._progress, now)

    def enable_stacks(self) -> bool:
        """Let the agent see the stacks of this process at any time, also if it hangs. Return False if it cannot.

        `faulthandler` writes them on a real-time signal that nobody uses. FLYBALL_STACKS=1 does the same.
        """
        try:
            from importlib import import_module

            return bool(import_module("flyball.captures.stacks_signal").enable())
        except Exception:  # noqa: BLE001  it must not reach the training
            return False

    def finish(self) -> None:
        """Send the last report and leave the run. Calling it again has no effect."""
        if self.finished:
            return
        self.finished = True
        fork.remove(self)
        try:
            now = perf_counter_ns()
            if self._newest is not None:
                self._loss.offer(self._newest())
            if self._actions:
                self._act()  # a capture in progress ends
            if self._adjustments is not None:
                self._adjustments.finish()
            self._report(now)
            self._reporter.finish(now)
        except Exception:  # noqa: BLE001  it must not reach the training
            self._dropped += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def __repr__(self) -> str:
        return f"<flyball.Run {self.name!r} rank {self.rank} of {self.world_size}, step {self.last_step}>"

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

    def at_boundary(self, action: Callable[[Run], object]) -> None:
        """Call a function once, at the next boundary between steps."""
        self._actions.append(action)

    def on_message(self, kind: str, action: Callable[[Run, dict[str, Any]], object] | None) -> None:
        """Call a function for each message of this kind from the agent. None removes it."""
        self._reporter.messages.on(kind, action)

    def send_message(self, message: dict[str, Any]) -> bool:
        """Send a message with the next report. Return False if it is too long, or too many wait."""
        return self._reporter.messages.add(message, MAX_LINE_BYTES)

    def exchange(self) -> None:
        """Send the messages that wait and act on those of the agent now, before the next report is due."""
        self._reporter.exchange(self, perf_counter_ns())

    def report_if_due(self) -> None:
        """Report in a pause between two steps: a rank that reports nothing seems to hang."""
        now = perf_counter_ns()
        if now >= self._due:
            self._report(now)

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
    def is_owned(self) -> bool:
        """Return True if this process has opened the run. A forked one has a copy that reports nothing."""
        return self._reporter.is_owned

    @property
    def hellos(self) -> int:
        """Return how often the run was introduced to an agent."""
        return self._reporter.hellos

    @property
    def refusal(self) -> str:
        """Return the last error of the agent, if it refused the run."""
        return self._reporter.refusal

    @property
    def step_seconds(self) -> float | None:
        """Return the recent duration of a step, if there was one."""
        return self._progress.step_seconds()

    def restart_clock(self) -> None:
        """Let the next step begin with the next batch or part. The time since the last one belongs to no step."""
        self._began = 0

    def reopen(self) -> None:
        """Let a finished run report again, for example when `fit` is called a second time."""
        if self.finished:
            self.finished = False
            self._reporter.attach()
            self.restart_clock()
            fork.add(self)

    def describe(
        self,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        total_steps: int | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        """Correct facts that a framework knows better than the environment. None leaves a fact as it is."""
        introduction = self._introduction
        before = introduction.line()
        if rank is not None:
            introduction.identity.rank = rank
        if world_size is not None:
            introduction.identity.world_size = world_size
        if total_steps is not None:
            introduction.total_steps = total_steps
        introduction.labels |= labels or {}
        if introduction.line() != before:
            self._reporter.open(introduction.line(), perf_counter_ns())

    def detach(self) -> None:
        """Stop reporting, because this process is a child of the one that opened the run."""
        self._draining = allocate_lock()  # a thread of the parent may have held it
        self.thread = get_ident()
        self._reporter.detach()

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

    def _go_to(self, number: object) -> None:
        step = whole_number(number)
        if step is None:
            self._dropped += 1
            self.last_step += 1
            return
        if step < self.last_step:
            self._introduction.identity.attempt += 1
            self._reporter.open(self._introduction.line(), perf_counter_ns())
        self.last_step = step

    def _report(self, now: int) -> None:
        self._due = now + self._report_ns
        self._loss_due = now + self._report_ns // 2  # a device has computed it when the next report is written
        self.thread = get_ident()
        self._close_second(now)
        if self._adjustments is not None:
            self._adjustments.before_report(now)
        self._reporter.send(self, self._progress, now)
        self.times.begin()
        self.sampling = self.times if self.times.recording else None

    def _close_second(self, now: int) -> None:
        """Add the figures of the last second to the sums and to the next report."""
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
        self._dropped += self._reporter.add(figures)

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

    def _act(self) -> None:
        actions, self._actions = self._actions, []
        for action in actions:
            try:
                action(self)
            except Exception:  # noqa: BLE001  it must not reach the training
                self._dropped += 1


for _method in (Run.step, Run.mark):
    _method.__dict__["_torchdynamo_disable"] = True  # in a function that torch compiles, they run as they are
