"""The three levers for training that is limited by a service it calls, with Amdahl's law on the measured shares.

The time of a sample is divided into calls, CPU time and the rest. Each lever shortens a part. Together, each is applied
to what the ones before have left, so factors multiply only as far as the shares allow.
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
"""The results that one public project reports for its own training against an HTTP service and a database.

The product of the single factors is 9 to 24, but they were not measured one after the other. So they are shown beside
the measured values and not used.
"""


@dataclass(frozen=True, slots=True)
class SampleTime:
    """The seconds of one sample (or one unit of time) on one worker."""

    fixed: float  # of calls: cost of each call, whatever its content (round trip, request handling)
    carried: float  # of calls: cost of their content
    connecting: float  # for connections and timeouts
    computing: float  # on the CPU
    other: float = 0.0  # not changed by any lever: the GPU's work, other waits

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.fixed + self.carried + self.connecting + self.computing + self.other


def batched(time: SampleTime, calls: float, into: float) -> SampleTime:
    """Send the same items in fewer calls: the fixed cost and the connection of each call are paid less often."""
    part = min(1.0, max(into, 1.0) / max(calls, 1.0))
    return replace(time, fixed=time.fixed * part, connecting=time.connecting * part)


def pooled(time: SampleTime, left: float = 0.1) -> SampleTime:
    """Keep connections open: the share `left` of the connection time remains."""
    return replace(time, connecting=time.connecting * min(max(left, 0.0), 1.0))


def side_by_side(time: SampleTime, workers: float, cores: float, efficiency: float = 1.0) -> float:
    """Return the seconds of a sample with independent workers, limited by the CPU that they share.

    `efficiency` is the gain of each additional worker. The limit of the service is unknown here.
    """
    effective = 1.0 + (max(workers, 1.0) - 1.0) * min(max(efficiency, 0.0), 1.0)
    return time.other + max((time.total - time.other) / effective, time.computing / max(cores, 1.0))


def factor(before: float, after: float) -> float:
    """Return the speed-up; a slowdown counts as none."""
    return min(max(before / after, 1.0), MOST) if after > 0 else MOST


@dataclass(frozen=True, slots=True)
class Levers:
    """The expected speed-up of each lever alone and of all together, which is not the product of the three."""

    batch_calls: Gain
    tune_pool: Gain
    parallel_workers: Gain
    together: Gain


def expect(time: SampleTime, *, calls: float, into: float, workers: float, cores: float) -> Levers:
    """Return intervals from cautious to good: fixed costs halved or removed, workers at half or full efficiency."""
    total = time.total
    cautious = replace(time, fixed=0.5 * time.fixed, carried=time.carried + 0.5 * time.fixed)
    low_batch, high_batch = batched(cautious, calls, into), batched(time, calls, into)
    low_pool, high_pool = pooled(time, 0.5), pooled(time, 0.0)
    low_workers, high_workers = side_by_side(time, workers, cores, 0.5), side_by_side(time, workers, cores)
    low = side_by_side(pooled(low_batch, 0.5), workers, cores, 0.5)
    high = side_by_side(pooled(high_batch, 0.0), workers, cores)
    pairs = ((low_batch.total, high_batch.total), (low_pool.total, high_pool.total), (low_workers, high_workers))
    return Levers(*(_gain(total, *pair) for pair in (*pairs, (low, high))))


def _gain(before: float, cautious: float, good: float) -> Gain:
    """Return the gain between two outcomes, which may be equal except for rounding."""
    return Gain(min(factor(before, cautious), factor(before, good)), factor(before, good))
