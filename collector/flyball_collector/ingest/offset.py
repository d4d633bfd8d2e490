"""A host's boot clock seen from the collector: an offset that turns boot time into collector time."""

from collections import deque
from dataclasses import dataclass

_SAMPLES = 16
_DRIFT = 200e-6  # of elapsed time: twice what a commodity crystal may be off (±100 ppm)
_TOLERANCE_NS = 2_000_000  # timestamps are taken in user space, some scheduling apart


@dataclass(frozen=True, slots=True)
class _Sample:
    boot_ns: int
    offset_ns: int
    error_ns: int  # half the round trip: the offset is right within this

    def error_at(self, boot_ns: int) -> float:
        return self.error_ns + _DRIFT * abs(boot_ns - self.boot_ns)


class ClockOffset:
    """Minimum filter over round trips; until the first one, the smallest one-way difference bounds the offset.

    The boot clock never steps, but it may freeze (a paused machine) and the collector's own clock may step: whatever
    contradicts what is known, beyond its error and drift, starts the filter anew.
    """

    __slots__ = ("_best", "_bound_ns", "_last_echo_ns", "_samples")

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=_SAMPLES)
        self._best: _Sample | None = None
        self._bound_ns: int | None = None
        self._last_echo_ns = 0

    @property
    def offset_ns(self) -> int | None:
        """Add this to boot time; `None` before the first message."""
        return self._best.offset_ns if self._best is not None else self._bound_ns

    def one_way(self, sent_boot_ns: int, received_ns: int) -> None:
        """A message left at boot time `sent_boot_ns`: it cannot have arrived before it left."""
        bound = received_ns - sent_boot_ns
        best = self._best
        if best is None:
            if self._bound_ns is None or bound < self._bound_ns:
                self._bound_ns = bound
        elif bound < best.offset_ns - best.error_at(sent_boot_ns) - _TOLERANCE_NS:
            self._samples.clear()
            self._best = None
            self._bound_ns = bound

    def round_trip(self, sent_ns: int, agent_received_boot_ns: int, agent_sent_boot_ns: int, received_ns: int) -> None:
        """The collector's message of `sent_ns` was answered: the offset lies within half the time on the way."""
        on_the_way = (received_ns - sent_ns) - (agent_sent_boot_ns - agent_received_boot_ns)
        if sent_ns == self._last_echo_ns or on_the_way < 0 or agent_sent_boot_ns < agent_received_boot_ns:
            return  # repeated, or nonsense: a clock stepped meanwhile, or the agent is wrong
        self._last_echo_ns = sent_ns
        offset = ((sent_ns - agent_received_boot_ns) + (received_ns - agent_sent_boot_ns)) // 2
        sample = _Sample(agent_sent_boot_ns, offset, on_the_way // 2)
        if any(_contradict(sample, known) for known in self._samples):
            self._samples.clear()
        self._samples.append(sample)
        self._best = min(self._samples, key=lambda s: s.error_at(agent_sent_boot_ns))


def _contradict(new: _Sample, known: _Sample) -> bool:
    apart = abs(new.offset_ns - known.offset_ns)
    return apart > new.error_ns + known.error_at(new.boot_ns) + _TOLERANCE_NS
