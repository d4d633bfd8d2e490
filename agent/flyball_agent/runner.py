"""Runs the probes of a tick; what a probe raises, or how long it hangs, never reaches its neighbours."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import structlog

from flyball_agent.probes.probe import Probe, Sample, Unavailable, Value
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import Reason, UnavailableReading

_log = structlog.get_logger(__name__)

NANOSECONDS = 1_000_000_000
ALONE_SECONDS = 0.01
"""A blocking probe has the interpreter for itself for so long, which is all that most ever need: threads that run side
by side take it from each other at every system call, which costs more than the reading."""

ASK_AGAIN_SECONDS = 5.0
"""A probe that said it cannot read here is asked again this often: drivers and devices come back."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What asking a probe once gave: a sample, or the reason why there is none."""

    sample: Sample | None
    unavailable_reading: UnavailableReading | None
    seconds: float


def ask(probe: Probe) -> Outcome:
    """Read one probe; its failure must not reach its neighbours."""
    started = time.perf_counter()
    try:
        return Outcome(_read(probe), None, time.perf_counter() - started)
    except Unavailable as error:
        unavailable_reading = UnavailableReading(probe.name, "", "", error.reason, error.detail, error.remedy)
    except Exception as error:  # noqa: BLE001  the probe is isolated; its reason is reported
        unavailable_reading = UnavailableReading(
            probe.name, "", "", Reason.FAILED, f"{type(error).__name__}: {error}"[:200]
        )
    return Outcome(None, unavailable_reading, time.perf_counter() - started)


def _read(probe: Probe) -> Sample:
    sample = probe.read()
    if len(sample.values) != len(sample.columns):
        raise ValueError(f"{len(sample.values)} values for {len(sample.columns)} columns")
    return sample


@dataclass(slots=True)
class Slot:
    """What the runner remembers of one probe between ticks."""

    probe: Probe
    worker: "Worker | None" = None
    columns: tuple[Column, ...] = ()
    values: Sequence[Value] = ()
    unavailable: tuple[UnavailableReading, ...] = ()
    next_ns: int = 0
    seconds_total: float = 0.0
    seconds_last: float = 0.0
    failures: int = 0
    late: bool = False

    def is_due(self, boot_ns: int) -> bool:
        return boot_ns >= self.next_ns

    def take(self, outcome: Outcome, boot_ns: int, interval_ns: int) -> None:
        """Keep an outcome as what this probe says until it is asked again."""
        every = self.probe.every_seconds
        self.late = False
        self.seconds_last = outcome.seconds
        self.seconds_total += outcome.seconds
        if outcome.sample is not None:
            self.columns, self.values, self.unavailable = (
                outcome.sample.columns,
                outcome.sample.values,
                outcome.sample.unavailable,
            )
        elif outcome.unavailable_reading is not None:
            if outcome.unavailable_reading.reason is not Reason.FAILED:
                every = max(every, ASK_AGAIN_SECONDS)
            self.unavailable_reading(outcome.unavailable_reading)
        # Ticks jitter: a probe that is due within half an interval is due now.
        self.next_ns = boot_ns + math.floor(every * NANOSECONDS) - interval_ns // 2

    def unavailable_reading(self, unavailable_reading: UnavailableReading) -> None:
        """Keep the columns, without values: unknown is said, not guessed. A repeated reason keeps its first words."""
        self.values = (None,) * len(self.columns)
        if len(self.unavailable) == 1 and _same_cause(self.unavailable[0], unavailable_reading):
            return
        if unavailable_reading.reason in {Reason.FAILED, Reason.TIMED_OUT}:
            self.failures += 1
            _log.warning(
                "probe_unavailable",
                probe=unavailable_reading.probe,
                reason=unavailable_reading.reason.word,
                detail=unavailable_reading.detail,
            )
        self.unavailable = (unavailable_reading,)


def _same_cause(a: UnavailableReading, b: UnavailableReading) -> bool:
    """Digits in a detail (addresses, counts) must not make a new unavailable reading each tick."""
    return a.reason is b.reason and a.detail.partition(":")[0] == b.detail.partition(":")[0]


class Worker:
    """A thread of its own for a probe that can block. It is never joined: it may hang in a driver for ever."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._answered: SimpleQueue[Outcome] = SimpleQueue()
        self.busy = False
        self._thread = threading.Thread(target=self._work, name=f"probe-{probe.name}", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Start a reading; only when none is under way."""
        self.busy = True
        self._asked.put(True)

    def answer(self, wait_seconds: float) -> Outcome | None:
        """The outcome, if it comes in time."""
        try:
            outcome = self._answered.get(timeout=max(0.0, wait_seconds))
        except Empty:
            return None
        self.busy = False
        return outcome

    def stop(self) -> None:
        """Let the thread end when (and if) it returns."""
        self._asked.put(False)

    def _work(self) -> None:
        while self._asked.get():
            self._answered.put(ask(self._probe))


@dataclass(slots=True)
class Runner:
    """Asks every probe that is due, slow ones side by side, and says what each one says now."""

    probes: Sequence[Probe]
    time_limit_seconds: float
    interval_seconds: float = 1.0
    slots: list[Slot] = field(init=False)

    def __post_init__(self) -> None:
        self.slots = [Slot(probe, Worker(probe) if probe.blocking else None) for probe in self.probes]

    def run(self, boot_ns: int) -> list[Slot]:
        """Read what is due at this tick; every slot then holds what its probe says, in a fixed order."""
        interval_ns = math.floor(self.interval_seconds * NANOSECONDS)
        for slot in self.slots:
            if slot.worker is None and slot.is_due(boot_ns):
                slot.take(ask(slot.probe), boot_ns, interval_ns)
        deadline = time.monotonic() + self._limit_seconds
        slow = []
        for slot in self.slots:
            if slot.worker is not None and self._start(slot, slot.worker, boot_ns):
                outcome = slot.worker.answer(min(ALONE_SECONDS, deadline - time.monotonic()))
                if outcome is None:
                    slow.append(slot)
                else:
                    slot.take(outcome, boot_ns, interval_ns)
        for slot in slow:
            self._finish(slot, deadline, boot_ns, interval_ns)
        return self.slots

    def stop(self) -> None:
        """Let the threads go; one that hangs is left to hang."""
        for slot in self.slots:
            if slot.worker is not None:
                slot.worker.stop()

    @property
    def _limit_seconds(self) -> float:
        return min(self.time_limit_seconds, self.interval_seconds / 2)

    @property
    def stuck(self) -> list[str]:
        """Probes whose last reading has not come back."""
        return [slot.probe.name for slot in self.slots if slot.late]

    def _start(self, slot: Slot, worker: Worker, boot_ns: int) -> bool:
        """Ask, unless the last question is still open; an answer that came too late is thrown away."""
        if worker.busy and worker.answer(0) is None:
            return False
        if not slot.late and not slot.is_due(boot_ns):
            return False
        worker.ask()
        return True

    def _finish(self, slot: Slot, deadline: float, boot_ns: int, interval_ns: int) -> None:
        assert slot.worker is not None  # noqa: S101  only slots with workers are asked
        outcome = slot.worker.answer(deadline - time.monotonic())
        if outcome is not None:
            slot.take(outcome, boot_ns, interval_ns)
            return
        slot.late = True
        detail = f"no answer within {self._limit_seconds:g} s; not asked again until it returns"
        slot.unavailable_reading(UnavailableReading(slot.probe.name, "", "", Reason.TIMED_OUT, detail))
