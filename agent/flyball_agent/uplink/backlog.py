"""What a stream has still to replay, and how much of it the collector has granted."""

from collections.abc import Iterable

from flyball_proto.ranges import RangeSet


class Backlog:
    """Sequences to replay, epoch by epoch, oldest first."""

    def __init__(self, epochs: Iterable[bytes]) -> None:
        self._todo: dict[bytes, RangeSet] = {epoch: RangeSet() for epoch in epochs}
        self.granted_bytes = 0

    def add(self, epoch: bytes, ranges: RangeSet) -> None:
        """These must be sent (again); an epoch that the stream did not announce is none of its business."""
        if epoch in self._todo and ranges:
            self._todo[epoch] |= ranges

    def remove(self, epoch: bytes, ranges: RangeSet) -> None:
        """These are sent, settled, lost or refused."""
        todo = self._todo.get(epoch)
        if todo:
            self._todo[epoch] = todo - ranges

    def settle(self, epoch: bytes, settled: int) -> None:
        """Everything below needs no sending."""
        self.remove(epoch, RangeSet([(0, settled)]))

    def next(self) -> tuple[bytes, int, int] | None:
        """The oldest unbroken stretch that waits: epoch, first, following."""
        for epoch, todo in self._todo.items():
            for first, following in todo:
                return epoch, first, following
        return None

    def of(self, epoch: bytes) -> RangeSet:
        return self._todo.get(epoch, RangeSet())

    def __len__(self) -> int:
        return sum(len(todo) for todo in self._todo.values())
