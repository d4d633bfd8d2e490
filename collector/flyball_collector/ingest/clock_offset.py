"""The offset between a host's boot clock and the collector's clock."""

from collections import deque
from dataclasses import dataclass

_SAMPLES = 16
_DRIFT = 200e-6  # per elapsed time: twice the error of a common crystal (±100 ppm)
_TOLERANCE_NS = 2_000_000  # timestamps are taken in user space, so scheduling adds to them


@dataclass(frozen=True, slots=True)
class _Sample:
    boot_ns: int
    offset_ns: int
    error_ns: int  # half the round trip: the maximum error of the offset

    def error_at(self, boot_ns: int) -> float:
        return self.error_ns + _DRIFT * abs(boot_ns - self.boot_ns)


class ClockOffset:
    """A minimum filter over round trips. Before the first one, the smallest one-way difference is an upper limit.

    The boot clock never steps, but it may freeze (a paused machine), and the collector's clock may step. A sample that
    contradicts the known ones, beyond its error and drift, restarts the filter.
    """

    __slots__ = ("_best", "_bound_ns", "_last_echo_ns", "_samples")

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=_SAMPLES)
        self._best: _Sample | None = None
        self._bound_ns: int | None = None
        self._last_echo_ns = 0

    @property
    def offset_ns(self) -> int | None:
        """Return the nanoseconds to add to boot time, or `None` before the first message."""
        return self._best.offset_ns if self._best is not None else self._bound_ns

    def one_way(self, sent_boot_ns: int, received_ns: int) -> None:
        """Use a message sent at boot time `sent_boot_ns`: it cannot have arrived earlier than that."""
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
        """Use an answer to the collector's message of `sent_ns`: the offset's error is at most half the round trip."""
        on_the_way = (received_ns - sent_ns) - (agent_sent_boot_ns - agent_received_boot_ns)
        if sent_ns == self._last_echo_ns or on_the_way < 0 or agent_sent_boot_ns < agent_received_boot_ns:
            return  # repeated or invalid: a clock stepped meanwhile, or the agent is wrong
        self._last_echo_ns = sent_ns
        offset = ((sent_ns - agent_received_boot_ns) + (received_ns - agent_sent_boot_ns)) // 2
        sample = _Sample(agent_sent_boot_ns, offset, on_the_way // 2)
        if any(_contradict(sample, known) for known in self._samples):
            self._samples.clear()
        self._samples.append(sample)
        self._best = min(self._samples, key=lambda s: s.error_at(agent_sent_boot_ns))


def _contradict(new: _Sample, known: _Sample) -> bool:
    difference = abs(new.offset_ns - known.offset_ns)
    return difference > new.error_ns + known.error_at(new.boot_ns) + _TOLERANCE_NS
