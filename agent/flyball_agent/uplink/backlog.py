"""What a stream has still to replay, and how much of it the collector has granted."""

from collections.abc import Iterable

from flyball_proto.ranges import RangeSet


class Backlog:
    """Sequences to replay, epoch by epoch, oldest first."""

    def __init__(self, epochs: Iterable[bytes]) -> None:
        self._order = {epoch: place for place, epoch in enumerate(epochs)}
        self._todo: dict[bytes, RangeSet] = {}
        self.granted_bytes = 0

    def add(self, epoch: bytes, ranges: RangeSet) -> None:
        """These must be sent (again); an epoch that the stream did not announce is none of its business."""
        if epoch in self._order and ranges:
            self._todo[epoch] = self.of(epoch) | ranges

    def remove(self, epoch: bytes, ranges: RangeSet) -> None:
        """These are sent, settled, lost or refused."""
        todo = self._todo.get(epoch)
        if todo is None:
            return
        left = todo - ranges
        if left:
            self._todo[epoch] = left
        else:
            del self._todo[epoch]

    def settle(self, epoch: bytes, settled: int) -> None:
        """Everything below needs no sending."""
        self.remove(epoch, RangeSet([(0, settled)]))

    def next(self) -> tuple[bytes, int, int] | None:
        """The oldest unbroken stretch that waits: epoch, first, following."""
        if not self._todo:
            return None
        epoch = min(self._todo, key=self._order.__getitem__)
        first, following = next(iter(self._todo[epoch]))
        return epoch, first, following

    def of(self, epoch: bytes) -> RangeSet:
        return self._todo.get(epoch, RangeSet())

    def __len__(self) -> int:
        return sum(len(todo) for todo in self._todo.values())
