"""What the spool knows of one epoch."""

from dataclasses import dataclass, field

from flyball_agent.record import Epoch
from flyball_agent.spool.segment import FileSegment, Segment
from flyball_proto.ranges import RangeSet

EMPTY = RangeSet()


@dataclass(frozen=True, slots=True)
class SpooledEpoch:
    """What the collector is told of an epoch at the beginning of a stream."""

    epoch: Epoch
    first: int
    next: int
    ended: bool


@dataclass(slots=True)
class Life:
    """One epoch: its segments in order, what is settled, what is lost."""

    epoch: Epoch
    ended: bool
    segments: list[Segment] = field(default_factory=list)
    next: int = 0
    settled: int = 0
    lost: RangeSet = EMPTY

    def held(self) -> RangeSet:
        """What can still be read and is not settled."""
        ranges = RangeSet(part for segment in self.segments for part in segment.ranges)
        return RangeSet(ranges.within(self.settled, self.next))

    @property
    def first(self) -> int:
        """Where the oldest file that is left begins, readable there or not; everything before was taken care of."""
        firsts = (segment.first for segment in self.segments if isinstance(segment, FileSegment))
        return min(firsts, default=self.next)

    def missing(self) -> RangeSet:
        """What is neither settled, nor held, nor already declared lost."""
        return RangeSet((self.held() | self.lost).gaps(self.settled, self.next))

    def settle(self, settled: int) -> list[Segment]:
        """Take the collector's word; returns the segments that may go."""
        self.settled = settled
        self.lost = RangeSet(self.lost.within(settled, max(settled, self.next)))
        gone = [segment for segment in self.segments if self._may_go(segment, settled)]
        self.segments = [segment for segment in self.segments if segment not in gone]
        return gone

    @property
    def is_over(self) -> bool:
        """Nothing of it is of interest to anybody any more."""
        return self.ended and self.settled >= self.next

    @property
    def bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    def describe(self) -> SpooledEpoch:
        """As the hello names it."""
        held = next(iter(self.held() | self.lost), (self.next, self.next))
        return SpooledEpoch(self.epoch, held[0], self.next, self.ended)

    def _may_go(self, segment: Segment, settled: int) -> bool:
        being_written = segment.fd >= 0 if isinstance(segment, FileSegment) else not self.ended
        return segment.forget_before(settled) and not being_written
