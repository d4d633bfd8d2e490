"""What every store does. All calls block; the collector makes them in threads of their own, under a time limit."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.block import Block
from flyball_proto.layout import Column
from flyball_proto.ranges import RangeSet


class StoreError(Exception):
    """A store could not do what was asked; the message says what, where, and what to do."""


class StoreUnavailable(StoreError):
    """The store is down, locked or full: trying again later may help."""


class StoreConflict(StoreError):
    """A document's revision was not the expected one."""


@dataclass(frozen=True, slots=True)
class Document:
    """A small named thing: a definition, an inventory, an open event …"""

    kind: str
    id: str
    body: bytes
    revision: int
    updated_ns: int


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a name until when; the token grows with every new holder."""

    name: str
    holder: str
    token: int
    expires_ns: int


@dataclass(frozen=True, slots=True)
class MinuteSeries:
    """Points of one column, one a minute (one a block): time × (min, mean, max), and the ticks behind each."""

    column: Column
    times_ns: NDArray[np.int64]
    minimum: NDArray[np.float64]
    mean: NDArray[np.float64]
    maximum: NDArray[np.float64]
    counts: NDArray[np.int64]


class Store(Protocol):
    """Keeps blocks for days, minute series for weeks, documents for good."""

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        """Unite each block with what is stored under its key, durably, all or nothing; returns what each settles."""

    def settled(self, host: str, epoch: bytes, from_sequence: int) -> RangeSet:
        """Which sequences of an epoch are durable, at or above `from_sequence`."""

    def read_blocks(self, host: str, start_ns: int, end_ns: int) -> Iterator[Block]:
        """Blocks of a host that overlap [start_ns, end_ns) in corrected time, oldest first."""

    def roll_up(self, until_ns: int) -> int:
        """Move summaries of blocks of whole hours before `until_ns` into hourly chunks a metric; returns the hours."""

    def read_minutes(self, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> list[MinuteSeries]:
        """Minute series of the named metrics, every column of each, chunks and newer blocks together."""

    def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002  the word is id
        """Write a document; with `expected` only over that revision (0: only if new). Returns the new revision."""

    def put_documents(
        self, documents: Sequence[tuple[str, str, bytes]], *, forget: Collection[tuple[str, str]] = ()
    ) -> None:
        """Write many (kind, id, body), whatever is there, then forget many (kind, id): all or nothing."""

    def get_document(self, kind: str, id: str) -> Document | None:  # noqa: A002
        """Read one document."""

    def list_documents(self, kind: str, prefix: str = "") -> list[Document]:
        """Documents of a kind whose id begins with `prefix`, by id."""

    def read_documents(
        self, kind: str, start: str, end: str, *, limit: int, newest_first: bool = False
    ) -> list[Document]:
        """At most `limit` documents of a kind whose id is in [start, end), by id; the last ids first if so asked."""

    def delete_document(self, kind: str, id: str) -> bool:  # noqa: A002
        """Forget one document; false when there was none."""

    def acquire_lease(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take or renew a lease; `None` while somebody else holds it."""

    def remove_host(self, host: str) -> int:
        """Forget everything of a host; returns the number of blocks."""

    def expire(self, *, blocks_before_ns: int, minutes_before_ns: int, max_bytes: int | None) -> int:
        """Drop what was received before, and the oldest blocks while over `max_bytes`; returns the blocks dropped."""

    def size_bytes(self) -> int:
        """What the store takes on disk."""

    def backup(self, path: str) -> None:
        """Write a consistent copy while in use."""

    def close(self) -> None:
        """Let go of what this store opened."""
