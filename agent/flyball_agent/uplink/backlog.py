"""The records that a stream has yet to replay, and the bytes that the collector has granted for it."""

from collections.abc import Iterable

from flyball_proto.ranges import RangeSet


class Backlog:
    """Sequences to replay, epoch by epoch, oldest first."""

    def __init__(self, epochs: Iterable[bytes]) -> None:
        self._order = {epoch: position for position, epoch in enumerate(epochs)}
        self._waiting: dict[bytes, RangeSet] = {}
        self.granted_bytes = 0

    def add(self, epoch: bytes, ranges: RangeSet) -> None:
        """Add sequences that must be sent (again). An epoch that the hello did not name is ignored."""
        if epoch in self._order and ranges:
            self._waiting[epoch] = self.of(epoch) | ranges

    def remove(self, epoch: bytes, ranges: RangeSet) -> None:
        """Remove sequences that are sent, settled, lost or refused."""
        waiting = self._waiting.get(epoch)
        if waiting is None:
            return
        left = waiting - ranges
        if left:
            self._waiting[epoch] = left
        else:
            del self._waiting[epoch]

    def settle(self, epoch: bytes, settled: int) -> None:
        """Remove everything below `settled`."""
        self.remove(epoch, RangeSet([(0, settled)]))

    def next(self) -> tuple[bytes, int, int] | None:
        """Return the oldest range without gaps: epoch, first, following."""
        if not self._waiting:
            return None
        epoch = min(self._waiting, key=self._order.__getitem__)
        first, following = next(iter(self._waiting[epoch]))
        return epoch, first, following

    def of(self, epoch: bytes) -> RangeSet:
        return self._waiting.get(epoch, RangeSet())

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())
