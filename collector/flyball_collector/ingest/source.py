"""The state of ingest for one host: epochs, clocks, limits, and the current stream."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flyball_collector.fleet.host import HostState
from flyball_collector.ingest.block_buffer import OpenBlock
from flyball_collector.ingest.clock_offset import ClockOffset
from flyball_collector.ingest.epoch_book import EpochBook
from flyball_collector.ingest.limits import HourlyQuota, TokenBucket

if TYPE_CHECKING:
    from flyball_collector.ingest.agent_stream import AgentStream

AHEAD = 1_000_000  # sequences: more than a day at 10 Hz; anything further beyond the announced range is invalid
_REMEMBERED_EPOCHS = 64
_DUPLICATE_SECONDS = 600.0
_BOOTS = 8


@dataclass(slots=True, eq=False)
class OpenEpoch:
    """An epoch that may still receive records."""

    host: str
    id: bytes
    interval_ms: int
    boot_id: str
    clock: ClockOffset
    book: EpochBook
    horizon: int  # sequences from here on are invalid
    newest: int = -1  # highest live sequence so far
    blocks: dict[int, OpenBlock] = field(default_factory=dict)
    rewind_from: int | None = None  # rows were dropped: request them again when there is room


@dataclass(slots=True, eq=False)
class Source:
    """One host as ingest sees it. It outlives its streams."""

    state: HostState
    bucket: TokenBucket
    quota: HourlyQuota
    epochs: dict[bytes, OpenEpoch] = field(default_factory=dict)
    current: OpenEpoch | None = None
    stream: "AgentStream | None" = None
    heard_at: float = 0.0  # monotonic time of the newest message
    clocks: OrderedDict[str, ClockOffset] = field(default_factory=OrderedDict)
    past: OrderedDict[bytes, None] = field(default_factory=OrderedDict)  # epochs that were current before
    duplicate_until: float = 0.0
    unavailable: int = 0  # digests that the fleet shows now
    tenancy: int = 0

    def clock(self, boot_id: str) -> ClockOffset:
        """Return the clock of one boot. A few are remembered."""
        clock = self.clocks.setdefault(boot_id, ClockOffset())
        self.clocks.move_to_end(boot_id)
        if len(self.clocks) > _BOOTS:
            self.clocks.popitem(last=False)
        return clock

    def switch_to(self, epoch: OpenEpoch, now: float) -> bool:
        """Make an epoch the current one. Return True if it was current before: then another machine uses this name.

        An agent never returns to an earlier epoch. Two agents under one name do so at every reconnect.
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
