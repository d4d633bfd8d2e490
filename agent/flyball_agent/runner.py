"""Runs the probes of a tick. A probe that fails or hangs does not affect the others."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import structlog

from flyball_agent.probes.probe import Probe, ProbeSample, Unavailable, Value
from flyball_agent.steady_columns import SteadyColumns
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import Reason, UnavailableReading

_log = structlog.get_logger(__name__)

NANOSECONDS = 1_000_000_000
EXCLUSIVE_SECONDS = 0.01
"""For this long a blocking probe is the only thread that runs, and most probes need no more. Threads that run in
parallel compete for the interpreter lock at every system call, which costs more than the reading itself."""

RETRY_SECONDS = 5.0
"""Interval at which a probe is tried again after it was unavailable: drivers and devices may come back."""


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The result of one reading: a sample, or the reason why there is none."""

    sample: ProbeSample | None
    unavailable_reading: UnavailableReading | None
    seconds: float


def read_probe(probe: Probe) -> ProbeOutcome:
    """Read one probe and catch every failure, so that it does not affect other probes."""
    started = time.perf_counter()
    try:
        return ProbeOutcome(_read(probe), None, time.perf_counter() - started)
    except Unavailable as error:
        missing = UnavailableReading(probe.name, "", "", error.reason, error.detail, error.remedy)
    except Exception as error:  # noqa: BLE001  the probe is isolated; its reason is reported
        detail = f"{type(error).__name__}: {error}"[:200]
        missing = UnavailableReading(probe.name, "", "", Reason.FAILED, detail)
    return ProbeOutcome(None, missing, time.perf_counter() - started)


def _read(probe: Probe) -> ProbeSample:
    sample = probe.read()
    if len(sample.values) != len(sample.columns):
        raise ValueError(f"{len(sample.values)} values for {len(sample.columns)} columns")
    return sample


@dataclass(slots=True)
class ProbeSlot:
    """The newest readings of one probe, and its state between ticks."""

    probe: Probe
    worker: "ProbeThread | None" = None
    columns: tuple[Column, ...] = ()
    values: Sequence[Value] = ()
    unavailable: tuple[UnavailableReading, ...] = ()
    next_ns: int = 0
    seconds_total: float = 0.0
    failures: int = 0
    late: bool = False
    steady: SteadyColumns = field(init=False)

    def __post_init__(self) -> None:
        self.steady = SteadyColumns(self.probe.name)

    def is_due(self, boot_ns: int) -> bool:
        return boot_ns >= self.next_ns

    def take(self, outcome: ProbeOutcome, boot_ns: int, interval_ns: int) -> None:
        """Store an outcome. Its values are repeated until the next reading."""
        every = self.probe.every_seconds
        self.late = False
        self.seconds_total += outcome.seconds
        if outcome.sample is not None:
            sample = self.steady.fit(outcome.sample, boot_ns)
            self.columns, self.values, self.unavailable = sample.columns, sample.values, sample.unavailable
        elif outcome.unavailable_reading is not None:
            if outcome.unavailable_reading.reason is not Reason.FAILED:
                every = max(every, RETRY_SECONDS)
            self.set_unavailable(outcome.unavailable_reading)
        # Ticks are not exact: a probe that is due within half an interval is due now.
        self.next_ns = boot_ns + math.floor(every * NANOSECONDS) - interval_ns // 2

    def set_unavailable(self, missing: UnavailableReading) -> None:
        """Keep the columns but set every value to unknown. The detail of a repeated reason stays the first one."""
        self.values = (None,) * len(self.columns)
        if len(self.unavailable) == 1 and _same_cause(self.unavailable[0], missing):
            return
        if missing.reason in {Reason.FAILED, Reason.TIMED_OUT}:
            self.failures += 1
            reason, detail = missing.reason.word, missing.detail
            _log.warning("probe_unavailable", probe=missing.probe, reason=reason, detail=detail)
        self.unavailable = (missing,)


def _same_cause(a: UnavailableReading, b: UnavailableReading) -> bool:
    """Compare reasons and the first part of details; addresses and counts in a detail may differ from tick to tick."""
    return a.reason is b.reason and a.detail.partition(":")[0] == b.detail.partition(":")[0]


class ProbeThread:
    """Runs a blocking probe in its own thread. The thread is never joined, because a driver call may hang forever."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._outcomes: SimpleQueue[ProbeOutcome] = SimpleQueue()
        self.busy = False
        self._thread = threading.Thread(target=self._work, name=f"probe-{probe.name}", daemon=True)
        self._thread.start()

    def request(self) -> None:
        """Start a reading. Call this only while no reading is in progress."""
        self.busy = True
        self._requests.put(True)

    def outcome(self, wait_seconds: float) -> ProbeOutcome | None:
        """Return the outcome, or None if it does not arrive in time."""
        try:
            outcome = self._outcomes.get(timeout=max(0.0, wait_seconds))
        except Empty:
            return None
        self.busy = False
        return outcome

    def stop(self) -> None:
        """Ask the thread to end. It does so when (and if) its current reading returns."""
        self._requests.put(False)

    def _work(self) -> None:
        while self._requests.get():
            self._outcomes.put(read_probe(self._probe))


@dataclass(slots=True)
class Runner:
    """Reads every probe that is due, slow ones in parallel, and keeps the newest readings of each."""

    probes: Sequence[Probe]
    time_limit_seconds: float
    interval_seconds: float = 1.0
    slots: list[ProbeSlot] = field(init=False)

    def __post_init__(self) -> None:
        self.slots = [ProbeSlot(probe, ProbeThread(probe) if probe.blocking else None) for probe in self.probes]

    def run(self, boot_ns: int) -> list[ProbeSlot]:
        """Read the probes that are due and return all slots with their newest readings, in a fixed order."""
        interval_ns = math.floor(self.interval_seconds * NANOSECONDS)
        for slot in self.slots:
            if slot.worker is None and slot.is_due(boot_ns):
                slot.take(read_probe(slot.probe), boot_ns, interval_ns)
        deadline = time.monotonic() + self._limit_seconds
        slow = []
        for slot in self.slots:
            if slot.worker is not None and self._start(slot, slot.worker, boot_ns):
                outcome = slot.worker.outcome(min(EXCLUSIVE_SECONDS, deadline - time.monotonic()))
                if outcome is None:
                    slow.append(slot)
                else:
                    slot.take(outcome, boot_ns, interval_ns)
        for slot in slow:
            self._finish(slot, deadline, boot_ns, interval_ns)
        return self.slots

    def stop(self) -> None:
        """Ask the threads to end without waiting for them."""
        for slot in self.slots:
            if slot.worker is not None:
                slot.worker.stop()

    @property
    def _limit_seconds(self) -> float:
        return min(self.time_limit_seconds, self.interval_seconds / 2)

    @property
    def stuck(self) -> list[str]:
        """Names of the probes whose last reading has not returned."""
        return [slot.probe.name for slot in self.slots if slot.late]

    def _start(self, slot: ProbeSlot, worker: ProbeThread, boot_ns: int) -> bool:
        """Start a reading unless the last one is still in progress. An outcome that came too late is discarded."""
        if worker.busy and worker.outcome(0) is None:
            return False
        if not slot.late and not slot.is_due(boot_ns):
            return False
        worker.request()
        return True

    def _finish(self, slot: ProbeSlot, deadline: float, boot_ns: int, interval_ns: int) -> None:
        assert slot.worker is not None  # noqa: S101  called only for slots with a thread
        outcome = slot.worker.outcome(deadline - time.monotonic())
        if outcome is not None:
            slot.take(outcome, boot_ns, interval_ns)
            return
        slot.late = True
        detail = f"no result within {self._limit_seconds:g} s; the next reading starts after this one returns"
        slot.set_unavailable(UnavailableReading(slot.probe.name, "", "", Reason.TIMED_OUT, detail))
