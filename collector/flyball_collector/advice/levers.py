"""The three levers of training that is bound by a service it calls, with Amdahl's law on the measured shares.

A sample's time is taken apart into what the calls take, what the processor takes, and the rest. Each lever shortens a
part; together they are computed on what the ones before have left, so factors are multiplied only as far as the shares
allow.
"""

from dataclasses import dataclass, replace

from flyball_collector.advice.advice import Gain
from flyball_collector.advice.amdahl import MOST

PUBLISHED = {
    "batch_calls": Gain(4.0, 7.0),  # 100 calls a sample became 2 to 4
    "tune_pool": Gain(1.15, 1.15),
    "parallel_workers": Gain(2.0, 3.0),  # 4 to 8 of them
    "together": Gain(15.0, 28.0),  # 12–14 s a sample became 0.5–1.0 s
}
"""What one public project reports of its own training against an HTTP service and a database. The product of the single
factors is 9 to 24: they were not measured one after the other, so they are shown beside what is measured, not used."""


@dataclass(frozen=True, slots=True)
class SampleTime:
    """Seconds of one sample (or of one unit of time) on one worker."""

    fixed: float  # of calls: what each costs however little it carries (round trip, request handling)
    carried: float  # of calls: what their content costs
    connecting: float  # for connections and time-outs
    computing: float  # on the processor
    other: float = 0.0  # that no lever shortens: the GPU's work, waiting for other things

    @property
    def total(self) -> float:
        """All of it."""
        return self.fixed + self.carried + self.connecting + self.computing + self.other


def batched(time: SampleTime, calls: float, into: float) -> SampleTime:
    """As many items in fewer calls: each call's fixed cost and connection is paid less often."""
    part = min(1.0, max(into, 1.0) / max(calls, 1.0))
    return replace(time, fixed=time.fixed * part, connecting=time.connecting * part)


def pooled(time: SampleTime, left: float = 0.1) -> SampleTime:
    """Connections are kept: of what connecting took, `left` is left."""
    return replace(time, connecting=time.connecting * min(max(left, 0.0), 1.0))


def side_by_side(time: SampleTime, workers: float, cores: float, efficiency: float = 1.0) -> float:
    """Seconds a sample with workers that do not disturb each other: bound by the processor that all of them share.

    `efficiency` is the share of each further worker that is gained; the service's own limit is not known here.
    """
    effective = 1.0 + (max(workers, 1.0) - 1.0) * min(max(efficiency, 0.0), 1.0)
    return time.other + max((time.total - time.other) / effective, time.computing / max(cores, 1.0))


def factor(before: float, after: float) -> float:
    """How many times as fast; a change for the worse is none."""
    return min(max(before / after, 1.0), MOST) if after > 0 else MOST


@dataclass(frozen=True, slots=True)
class Levers:
    """The expected speed-up of each lever alone, and of all together; never the product of the three."""

    batch_calls: Gain
    tune_pool: Gain
    parallel_workers: Gain
    together: Gain


def expect(time: SampleTime, *, calls: float, into: float, workers: float, cores: float) -> Levers:
    """Intervals from doubtful to good: fixed costs removed by half or whole, workers at half or full efficiency."""
    total = time.total
    cautious = replace(time, fixed=0.5 * time.fixed, carried=time.carried + 0.5 * time.fixed)
    low_batch, high_batch = batched(cautious, calls, into), batched(time, calls, into)
    low_pool, high_pool = pooled(time, 0.5), pooled(time, 0.0)
    low_workers, high_workers = side_by_side(time, workers, cores, 0.5), side_by_side(time, workers, cores)
    low = side_by_side(pooled(low_batch, 0.5), workers, cores, 0.5)
    high = side_by_side(pooled(high_batch, 0.0), workers, cores)
    pairs = ((low_batch.total, high_batch.total), (low_pool.total, high_pool.total), (low_workers, high_workers))
    return Levers(*(_gain(total, *pair) for pair in (*pairs, (low, high))))


def _gain(before: float, doubtful: float, good: float) -> Gain:
    """From the slower to the faster of two outcomes, which may be the same but for rounding."""
    return Gain(min(factor(before, doubtful), factor(before, good)), factor(before, good))
