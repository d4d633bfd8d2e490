"""The state of one epoch in the spool: its segments, what is settled and what is lost."""

from dataclasses import dataclass, field

from flyball_agent.record import Epoch
from flyball_agent.spool.segment import FileSegment, Segment
from flyball_proto.ranges import RangeSet

EMPTY = RangeSet()


@dataclass(frozen=True, slots=True)
class EpochSummary:
    """The description of an epoch in the hello of a stream."""

    epoch: Epoch
    first: int
    next: int
    ended: bool


@dataclass(slots=True)
class EpochSegments:
    """The segments of one epoch in order, its settled prefix and its lost sequences."""

    epoch: Epoch
    ended: bool
    segments: list[Segment] = field(default_factory=list)
    next: int = 0
    settled: int = 0
    lost: RangeSet = EMPTY

    def held(self) -> RangeSet:
        """Return the sequences that can be read and are not settled."""
        ranges = RangeSet(part for segment in self.segments for part in segment.ranges)
        return RangeSet(ranges.within(self.settled, self.next))

    @property
    def first(self) -> int:
        """Start of the oldest remaining file, even if it is damaged. Everything before it is settled or lost."""
        firsts = (segment.first for segment in self.segments if isinstance(segment, FileSegment))
        return min(firsts, default=self.next)

    def missing(self) -> RangeSet:
        """Return the sequences that are neither settled, nor held, nor declared lost."""
        return RangeSet((self.held() | self.lost).gaps(self.settled, self.next))

    def settle(self, settled: int) -> list[Segment]:
        """Set the settled prefix and return the segments that can be deleted."""
        self.settled = settled
        self.lost = RangeSet(self.lost.within(settled, max(settled, self.next)))
        deletable = [segment for segment in self.segments if self._is_deletable(segment, settled)]
        self.segments = [segment for segment in self.segments if segment not in deletable]
        return deletable

    @property
    def is_over(self) -> bool:
        """True when the epoch has ended and everything is settled."""
        return self.ended and self.settled >= self.next

    @property
    def bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    def describe(self) -> EpochSummary:
        """Return the description for the hello."""
        held = next(iter(self.held() | self.lost), (self.next, self.next))
        return EpochSummary(self.epoch, held[0], self.next, self.ended)

    def _is_deletable(self, segment: Segment, settled: int) -> bool:
        being_written = segment.fd >= 0 if isinstance(segment, FileSegment) else not self.ended
        return segment.forget_before(settled) and not being_written
