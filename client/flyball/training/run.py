"""A run as a training script sees it: steps, their parts, and a report a second to the agent of the host."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from time import perf_counter_ns

from flyball.training import fork
from flyball.training.parts import MeasuredData, MeasuredIterator
from flyball.training.report_line import MAX_LINE_BYTES
from flyball.training.texts import whole_number
from flyball.training.timed_run import TimedRun

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
_MANY = 2**53  # beyond it, adding one to a float changes nothing


class Run(TimedRun):
    """One rank of a training. Open it with `flyball.run`. Nothing that goes wrong here reaches the training."""

    __slots__ = (
        "_actions",
        "_due",
        "_report_ns",
        "_reporter",
        "finished",
        "last_step",
        "measures_data",
    )

    def __init__(
        self,
        introduction: Introduction,
        reporter: Reporter,
        dropped: int = 0,
        report_ns: int = REPORT_NS,
    ) -> None:
        now = perf_counter_ns()
        TimedRun.__init__(self, introduction, now, dropped)
        self.last_step = 0
        self.measures_data = False  # the script measures waiting for input itself
        self.finished = False
        self._reporter = reporter
        self._report_ns = report_ns
        self._actions: list[Callable[[Run], object]] = []
        self._due = now
        reporter.open(introduction.line(), now)

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
        self._dropped += self._reporter.add(self._take_second(now))

    def _act(self) -> None:
        actions, self._actions = self._actions, []
        for action in actions:
            try:
                action(self)
            except Exception:  # noqa: BLE001  it must not reach the training
                self._dropped += 1


Run.step.__dict__["_torchdynamo_disable"] = True  # in a function that torch compiles, it runs as it is
