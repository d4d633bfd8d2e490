"""The probe of trainings: what they do and wait for, as the kernel counts it, for runs that report no steps."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Value
from flyball_agent.probes.training import metrics
from flyball_agent.probes.training.calls import ConnectionTotals, TrainingCalls
from flyball_agent.probes.training.process import REMEDY
from flyball_agent.probes.training.use_totals import UseTotals
from flyball_agent.probes.training.wait_kinds import KINDS
from flyball_agent.probes.training.watched_trainings import WatchedTrainings
from flyball_proto.unavailable_reading import Reason, UnavailableReading

SAMPLES_A_SECOND = 5
"""Looks at what the main threads wait for. On a busy machine one takes 150 to 200 µs of CPU, nearly all of it to wake
up with cold caches; eight processes take 15 µs more than two."""

STEADY_SAMPLES, STEADY_A_SECOND = 40, 2
"""After so many samples in a row that found the same of the main processes, fewer are taken until one finds something
else. Workers do not count: they are looked at as well, and several of them make up for the samples that are missing."""

UNREAD_SECONDS = 10.0
"""If the probe was last read longer ago, it is no longer in use and takes no samples."""

_NO_CALLS: tuple[Value, ...] = (None,) * (len(metrics.CALLS) + len(metrics.TRIPS))
_CALLS = frozenset(metric.name for metric in (*metrics.CALLS, *metrics.TRIPS))


@dataclass(slots=True)
class SamplingPace:
    """Chooses how many samples a second are taken: two where each finds the same, as while a thread only computes."""

    _found: Sequence[str] = ()
    _alike: int = 0

    @property
    def samples_a_second(self) -> int:
        return STEADY_A_SECOND if self._alike >= STEADY_SAMPLES else SAMPLES_A_SECOND

    def note(self, found: Sequence[str]) -> None:
        """Note what a sample found for each main process."""
        self._alike = self._alike + 1 if found == self._found else 0
        self._found = found


class TrainingProbe:
    """Reads the trainings of this host each second, and samples what their main threads wait for in between."""

    name = "training"
    metrics = metrics.EVERY
    every_seconds = 1.0
    blocking = True  # the files of a process that hangs in the kernel can hang

    def __init__(self, proc_root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.trainings = WatchedTrainings(proc_root)
        self._clock = clock
        self._calls = TrainingCalls()
        self._totals = UseTotals()
        self._last: float | None = None
        self._columns = GroupedColumns(metrics.EVERY[: -len(metrics.WAITS)], metrics.WAITS).columns(
            ((),), tuple((kind,) for kind in KINDS)
        )
        self._gaps = Gaps(self.name, "no connection of a training is in use", Reason.ABSENT)
        self._sampler: threading.Thread | None = None

    def read(self) -> ProbeSample:
        now = self._clock()
        passed = 0.0 if self._last is None else now - self._last
        self._last = now
        changed = self.trainings.update(now)
        if not self.trainings.mains:
            raise self._absent()
        self._start_sampling()
        self._totals.add(self.trainings.mains, self.trainings.workers, passed)
        self._calls.update(self.trainings.mains, now, changed=changed)
        return self._sample_of(self._calls.totals())

    def sample(self) -> list[str]:
        """Note what the main thread of each process waits for at this moment, and return it."""
        return [process.sample() for process in (*self.trainings.mains, *self.trainings.workers)]

    def _absent(self) -> Unavailable:
        if self.trainings.are_hidden:
            return Denied("no training is known, and processes of other users may not be examined", REMEDY)
        return Absent("no process holds a GPU, is connected to the agent or computes with libraries for arrays")

    def _sample_of(self, calls: ConnectionTotals | None) -> ProbeSample:
        trainings = self.trainings
        values: list[Value] = [len(trainings.mains), len(trainings.workers), *self._totals.values()]
        values += _NO_CALLS if calls is None else _values_of(calls)
        values += self._totals.waits()
        return ProbeSample(self._columns, values, self._unavailable(values))

    def _unavailable(self, values: list[Value]) -> tuple[UnavailableReading, ...]:
        gaps = self._gaps.unavailable(self._columns, values)
        failure = self._calls.failure
        reads = metrics.READS[0].name
        missing = [gap for gap in gaps if gap.metric != reads and (failure is None or gap.metric not in _CALLS)]
        if failure is not None:
            missing += [self._missing(metric, failure) for metric in sorted(_CALLS)]
        if any(gap.metric == reads for gap in gaps):
            missing.append(self._missing(reads, Denied("the reads of a training may not be counted", REMEDY)))
        if any(process.is_denied for process in self.trainings.mains):
            what = "only waits for disks are known, because the functions in which threads wait may not be read"
            missing.append(self._missing(metrics.WAITS[0].name, Denied(what, REMEDY)))
        return tuple(missing)

    def _missing(self, metric: str, failure: Unavailable) -> UnavailableReading:
        return UnavailableReading(self.name, metric, "", failure.reason, failure.detail, failure.remedy)

    def _start_sampling(self) -> None:
        if self._sampler is None or not self._sampler.is_alive():
            self._sampler = threading.Thread(target=self._keep_sampling, name="training-waits", daemon=True)
            self._sampler.start()

    def _keep_sampling(self) -> None:
        """Sample at random moments, so that a step of a fifth of a second does not look the same each time."""
        rng, pace = random.Random(), SamplingPace()  # noqa: S311  no secret
        while self.trainings.mains and self._clock() - (self._last or 0.0) < UNREAD_SECONDS:
            time.sleep(rng.uniform(0.5, 1.5) / pace.samples_a_second)
            mains = len(self.trainings.mains)
            pace.note(self.sample()[:mains])


def _values_of(calls: ConnectionTotals) -> list[Value]:
    return [
        calls.connections,
        calls.sent_segments,
        calls.received_bytes,
        calls.retransmitted,
        calls.disordered,
        *(calls.trips or (None, None)),
    ]
