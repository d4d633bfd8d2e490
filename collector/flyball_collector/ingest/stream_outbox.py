"""Messages that wait for one agent. They merge while they wait, so a slow reader costs no memory."""

import asyncio
from collections.abc import Iterator

from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

_MAX_REFUSED_RANGES = 1000
_MAX_CAPTURES = 512


class StreamOutbox:
    """Filled by ingest, drained by the stream's sender task."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self._welcomes: list[pb.Welcome] = []
        self._settled: dict[bytes, int] = {}
        self._rewinds: dict[bytes, int] = {}
        self._refused: dict[tuple[bytes, str], RangeSet] = {}
        self._grant_bytes = 0
        self._settings: pb.AgentSettings | None = None
        self._captures: dict[str, pb.CaptureOrder] = {}
        self._captures_next: dict[str, pb.CaptureNext] = {}

    @property
    def overflowing(self) -> bool:
        """Return True if too many refusals wait: the agent causes them but leaves them unread."""
        return bool(self._refused) and sum(len(list(r)) for r in self._refused.values()) > _MAX_REFUSED_RANGES

    def welcome(self, welcome: pb.Welcome) -> None:
        self._welcomes = [welcome]
        self.wake.set()

    def settings(self, settings: pb.AgentSettings) -> None:
        self._settings = settings
        self.wake.set()

    def acknowledge(self, epoch: bytes, settled: int) -> None:
        self._settled[epoch] = max(settled, self._settled.get(epoch, 0))
        self.wake.set()

    def rewind(self, epoch: bytes, sequence: int) -> None:
        self._rewinds[epoch] = min(sequence, self._rewinds.get(epoch, sequence))
        self.wake.set()

    def refuse(self, epoch: bytes, ranges: RangeSet, reason: str) -> None:
        self._refused[epoch, reason] = self._refused.get((epoch, reason), RangeSet()) | ranges
        self.wake.set()

    def grant(self, count: int) -> None:
        self._grant_bytes += count
        self.wake.set()

    def capture(self, order: pb.CaptureOrder) -> None:
        """Add an order. Beyond a limit it is dropped, and then times out."""
        if len(self._captures) < _MAX_CAPTURES:
            self._captures[order.id] = order
            self.wake.set()

    def capture_next(self, message: pb.CaptureNext) -> None:
        """Add the answer to a part. Beyond a limit it is dropped: the agent causes it but leaves others unread."""
        if message.id in self._captures_next or len(self._captures_next) < _MAX_CAPTURES:
            self._captures_next[message.id] = message
            self.wake.set()

    def drain(self) -> Iterator[pb.CollectorMessage]:
        """Yield the waiting messages, the welcome first."""
        for welcome in self._welcomes:
            yield pb.CollectorMessage(welcome=welcome)
        self._welcomes = []
        if self._settings is not None:
            yield pb.CollectorMessage(settings=self._settings)
            self._settings = None
        while self._settled:
            epoch, settled = self._settled.popitem()
            yield pb.CollectorMessage(acknowledgement=pb.Acknowledgement(epoch=epoch, settled=settled))
        while self._refused:
            (epoch, reason), ranges = self._refused.popitem()
            messages = [pb.Range(first=first, next=following) for first, following in ranges]
            yield pb.CollectorMessage(refused=pb.Refused(epoch=epoch, ranges=messages, reason=reason))
        while self._rewinds:
            epoch, sequence = self._rewinds.popitem()
            rewind = pb.Rewind(epoch=epoch)
            setattr(rewind, "from", sequence)  # `from` is a Python keyword
            yield pb.CollectorMessage(rewind=rewind)
        while self._captures:
            yield pb.CollectorMessage(capture=self._captures.popitem()[1])
        while self._captures_next:
            yield pb.CollectorMessage(capture_next=self._captures_next.popitem()[1])
        if self._grant_bytes:
            count, self._grant_bytes = self._grant_bytes, 0
            yield pb.CollectorMessage(replay_grant=pb.ReplayGrant(bytes=count))
