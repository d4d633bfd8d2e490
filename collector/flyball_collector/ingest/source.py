"""What ingest keeps of one host: its epochs, clocks and limits, and the stream that speaks for it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flyball_collector.fleet.host import HostState
from flyball_collector.ingest.gather import OpenBlock
from flyball_collector.ingest.limits import HourlyQuota, TokenBucket
from flyball_collector.ingest.offset import ClockOffset
from flyball_collector.ingest.settle import EpochBook

if TYPE_CHECKING:
    from flyball_collector.ingest.stream import Stream

AHEAD = 1_000_000  # sequences: at 10 Hz more than a day; further ahead of what was announced is absurd
_REMEMBERED_EPOCHS = 64
_DUPLICATE_SECONDS = 600.0
_BOOTS = 8


@dataclass(slots=True, eq=False)
class OpenEpoch:
    """One epoch of which something may still come."""

    host: str
    id: bytes
    interval_ms: int
    boot_id: str
    clock: ClockOffset
    book: EpochBook
    horizon: int  # sequences from here on are absurd
    newest: int = -1  # highest live sequence seen
    blocks: dict[int, OpenBlock] = field(default_factory=dict)
    rewind_from: int | None = None  # rows were let go: ask for them again when there is room


@dataclass(slots=True, eq=False)
class Source:
    """One host, as ingest sees it; it outlives its streams."""

    state: HostState
    bucket: TokenBucket
    quota: HourlyQuota
    epochs: dict[bytes, OpenEpoch] = field(default_factory=dict)
    current: OpenEpoch | None = None
    stream: "Stream | None" = None
    heard: float = 0.0  # monotonic time of the newest message
    clocks: OrderedDict[str, ClockOffset] = field(default_factory=OrderedDict)
    past: OrderedDict[bytes, None] = field(default_factory=OrderedDict)  # epochs that were current
    duplicate_until: float = 0.0
    unavailable: int = 0  # digests that the fleet shows now
    tenancy: int = 0

    def clock(self, boot_id: str) -> ClockOffset:
        """The clock of one boot; a few are remembered."""
        clock = self.clocks.setdefault(boot_id, ClockOffset())
        self.clocks.move_to_end(boot_id)
        if len(self.clocks) > _BOOTS:
            self.clocks.popitem(last=False)
        return clock

    def becomes(self, epoch: OpenEpoch, now: float) -> bool:
        """The host says that this is its life now. True when an earlier life came back: that is another machine.

        An agent never returns to an epoch that it left; two agents under one name do at every reconnect.
        """
        returned = self.current is not None and epoch.id != self.current.id and epoch.id in self.past
        self.current = epoch
        self.past[epoch.id] = None
        self.past.move_to_end(epoch.id)
        if len(self.past) > _REMEMBERED_EPOCHS:
            self.past.popitem(last=False)
        if returned:
            self.duplicate_until = now + _DUPLICATE_SECONDS
        self.state.duplicate = now < self.duplicate_until
        return returned
