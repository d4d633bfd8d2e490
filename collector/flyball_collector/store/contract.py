"""The protocol of stores. All calls block; the collector makes them in its own threads, with a time limit."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.block import Block
from flyball_proto.layout import Column
from flyball_proto.ranges import RangeSet


class StoreError(Exception):
    """A store call failed. The message names what failed, where, and what to do."""


class StoreUnavailable(StoreError):
    """The store is down, locked or full. A later try may succeed."""


class StoreConflict(StoreError):
    """A document does not have the expected revision."""


@dataclass(frozen=True, slots=True)
class Document:
    """A small named object: a definition, an inventory, an active condition …"""

    kind: str
    id: str
    body: bytes
    revision: int
    updated_ns: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a name, until when. The token grows with every new holder."""

    name: str
    holder: str
    token: int
    expires_ns: int


@dataclass(frozen=True, slots=True)
class MinuteSeries:
    """Points of one column, one a minute (one per block): time × (min, mean, max), and the number of ticks of each."""

    column: Column
    times_ns: NDArray[np.int64]
    minimum: NDArray[np.float64]
    mean: NDArray[np.float64]
    maximum: NDArray[np.float64]
    counts: NDArray[np.int64]


class Store(Protocol):
    """Keeps blocks for days, minute series for weeks, and documents until they are deleted."""

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        """Merge each block with the stored one, durably, all or nothing. Return what each settles."""

    def settled(self, host: str, epoch: bytes, from_sequence: int) -> RangeSet:
        """Return the durable sequences of an epoch from `from_sequence` on."""

    def read_blocks(self, host: str, start_ns: int, end_ns: int) -> Iterator[Block]:
        """Yield blocks of a host that overlap [start_ns, end_ns) in corrected time, oldest first."""

    def roll_up(self, until_ns: int) -> int:
        """Move summaries of blocks of whole hours before `until_ns` into hourly chunks. Return the number of hours."""

    def read_minutes(self, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> list[MinuteSeries]:
        """Return the minute series of some metrics, every column of each, from chunks and newer blocks."""

    def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002
        """Write a document; with `expected` only over that revision (0: only if new). Return the new revision."""

    def put_documents(
        self, documents: Sequence[tuple[str, str, bytes]], *, forget: Collection[tuple[str, str]] = ()
    ) -> None:
        """Write many (kind, id, body) unconditionally, then delete many (kind, id): all or nothing."""

    def get_document(self, kind: str, id: str) -> Document | None:  # noqa: A002
        """Return one document, or `None`."""

    def list_documents(self, kind: str, prefix: str = "") -> list[Document]:
        """Return documents of a kind whose id begins with `prefix`, sorted by id."""

    def read_documents(
        self, kind: str, start: str, end: str, *, limit: int, newest_first: bool = False
    ) -> list[Document]:
        """Return up to `limit` documents of a kind with an id in [start, end), sorted by id or in reverse."""

    def delete_document(self, kind: str, id: str) -> bool:  # noqa: A002
        """Delete a document. Return False if there was none."""

    def acquire_lease(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take or renew a lease. Return `None` while another holder has it."""

    def remove_host(self, host: str) -> int:
        """Delete everything of a host. Return the number of blocks."""

    def expire(self, *, blocks_before_ns: int, minutes_before_ns: int, max_bytes: int | None) -> int:
        """Delete what was received before, and the oldest blocks over `max_bytes`. Return the number of blocks."""

    def size_bytes(self) -> int:
        """Return the size on disk."""

    def backup(self, path: str) -> None:
        """Write a consistent copy while the store is in use."""

    def close(self) -> None:
        """Release what this store opened."""
