"""A store in memory, for tests, demonstrations and collectors that keep nothing. Its data end with the process."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence

from flyball_collector.blocks.block import Block, BlockKey
from flyball_collector.blocks.summary import decode_summary
from flyball_collector.store.contract import Document, Lease, MinuteSeries, StoreConflict, StoreError
from flyball_collector.store.definitions import DEFINITIONS, LayoutFinder, belongs_to
from flyball_collector.store.minutes import (
    BlockPoints,
    Chunk,
    chunks_of,
    encode_chunk,
    hour_of,
    merge,
    series_of,
    without,
)
from flyball_collector.store.stored_merge import merge_with_stored
from flyball_proto.ranges import RangeSet

_Points = set[tuple[bytes, int]]


class MemoryStore:
    """A store in dictionaries behind one lock."""

    def __init__(self, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._blocks: dict[BlockKey, Block] = {}
        self._pending: set[BlockKey] = set()  # not in a chunk yet, or changed since
        self._hours: dict[BlockKey, int] = {}  # the hour in whose chunks a block's points are
        self._chunks: dict[tuple[str, int, str], tuple[Chunk, int]] = {}  # (host, hour, metric) → chunk, received
        self._documents: dict[tuple[str, str], Document] = {}
        self._leases: dict[str, Lease] = {}
        self._layouts = LayoutFinder(self.get_document)

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        with self._lock:
            merged: dict[BlockKey, Block] = {}
            for block in blocks:
                stored = merged.get(block.key) or self._blocks.get(block.key)
                merged[block.key] = block if stored is None else merge_with_stored(stored, block)
            self._blocks |= merged
            self._pending |= merged.keys()
            return [merged[block.key].settled for block in blocks]

    def settled(self, host: str, epoch: bytes, from_sequence: int) -> RangeSet:
        with self._lock:
            ranges = [
                part
                for key, block in self._blocks.items()
                if key.host == host and key.epoch == epoch
                for part in block.settled
            ]
        return RangeSet((max(first, from_sequence), following) for first, following in ranges)

    def read_blocks(self, host: str, start_ns: int, end_ns: int) -> Iterator[Block]:
        with self._lock:
            found = [
                b for b in self._blocks.values() if b.key.host == host and b.first_ns < end_ns and b.last_ns >= start_ns
            ]
        return iter(sorted(found, key=lambda block: (block.first_ns, block.key)))

    def roll_up(self, until_ns: int) -> int:
        with self._lock:
            due: dict[tuple[str, int], list[Block]] = {}
            for key in self._pending:
                block = self._blocks[key]
                if (hour := hour_of(block.first_ns)) < hour_of(until_ns):
                    due.setdefault((key.host, hour), []).append(block)
            for (host, hour), blocks in due.items():
                self._roll_hour(host, hour, blocks)
            return len(due)

    def _roll_hour(self, host: str, hour: int, blocks: list[Block]) -> None:
        for block in blocks:
            if (before := self._hours.get(block.key, hour)) != hour:
                self._forget_points(host, before, {(block.key.epoch, block.key.number)})
        received_ns = max(block.received_ns for block in blocks)
        for metric, chunk in chunks_of([_points(block) for block in blocks], self._layouts).items():
            old, old_received = self._chunks.get((host, hour, metric), (None, 0))
            whole = chunk if old is None else merge(old, chunk)
            self._chunks[host, hour, metric] = whole, max(received_ns, old_received)
        for block in blocks:
            self._hours[block.key] = hour
            self._pending.discard(block.key)

    def _forget_points(self, host: str, hour: int, points: _Points) -> None:
        for key, (chunk, received_ns) in list(self._chunks.items()):
            if key[:2] == (host, hour):
                del self._chunks[key]
                if (rest := without(chunk, points)).epochs:
                    self._chunks[key] = rest, received_ns

    def read_minutes(self, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> list[MinuteSeries]:
        with self._lock:
            fresh = [self._blocks[key] for key in self._pending if key.host == host]
            newer = chunks_of([_points(block) for block in fresh], self._layouts, metrics)
            replaced = {(block.key.epoch, block.key.number) for block in fresh}
            series: list[MinuteSeries] = []
            for metric in sorted(set(metrics)):
                older = [chunk for (h, _, m), (chunk, _) in self._chunks.items() if h == host and m == metric]
                chunks = [without(chunk, replaced) for chunk in older]
                if metric in newer:
                    chunks.append(newer[metric])
                series += series_of(chunks, start_ns, end_ns)
            return series

    def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002
        with self._lock:
            old = self._documents.get((kind, id))
            revision = 0 if old is None else old.revision
            if expected is not None and expected != revision:
                raise StoreConflict(f"document {kind}/{id} has revision {revision}, not {expected}; read it again")
            self._documents[kind, id] = Document(kind, id, body, revision + 1, self._clock())
            return revision + 1

    def put_documents(
        self, documents: Sequence[tuple[str, str, bytes]], *, forget: Collection[tuple[str, str]] = ()
    ) -> None:
        with self._lock:
            for kind, id_, body in documents:
                self.put_document(kind, id_, body)
            for name in forget:
                self._documents.pop(name, None)

    def get_document(self, kind: str, id: str) -> Document | None:  # noqa: A002
        with self._lock:
            return self._documents.get((kind, id))

    def list_documents(self, kind: str, prefix: str = "") -> list[Document]:
        with self._lock:
            found = [d for d in self._documents.values() if d.kind == kind and d.id.startswith(prefix)]
        return sorted(found, key=lambda document: document.id)

    def read_documents(
        self, kind: str, start: str, end: str, *, limit: int, newest_first: bool = False
    ) -> list[Document]:
        with self._lock:
            found = [d for (k, id_), d in self._documents.items() if k == kind and start <= id_ < end]
        return sorted(found, key=lambda document: document.id, reverse=newest_first)[:limit]

    def delete_document(self, kind: str, id: str) -> bool:  # noqa: A002
        with self._lock:
            return self._documents.pop((kind, id), None) is not None

    def acquire_lease(self, name: str, holder: str, seconds: float) -> Lease | None:
        with self._lock:
            now, old = self._clock(), self._leases.get(name)
            alive = old is not None and old.expires_ns > now
            if old is not None and alive and old.holder != holder:
                return None
            token = 1 if old is None else old.token + (not alive)
            self._leases[name] = lease = Lease(name, holder, token, now + int(seconds * 1e9))
            return lease

    def remove_host(self, host: str) -> int:
        with self._lock:
            gone = [key for key in self._blocks if key.host == host]
            self._drop(gone)
            for chunk_key in [key for key in self._chunks if key[0] == host]:
                del self._chunks[chunk_key]
            for name in [n for n in self._documents if n[0] not in DEFINITIONS and belongs_to(n[1], host)]:
                del self._documents[name]
            return len(gone)

    def expire(self, *, blocks_before_ns: int, minutes_before_ns: int, max_bytes: int | None) -> int:
        with self._lock:
            gone = [key for key, block in self._blocks.items() if block.received_ns < blocks_before_ns]
            self._drop(gone)
            for chunk_key in [key for key, (_, received) in self._chunks.items() if received < minutes_before_ns]:
                del self._chunks[chunk_key]
            return len(gone) + self._shrink(max_bytes)

    def _shrink(self, max_bytes: int | None) -> int:
        if max_bytes is None or (over := self.size_bytes() - max_bytes) <= 0:
            return 0
        dropped = []
        for key, block in sorted(self._blocks.items(), key=lambda item: item[1].received_ns):
            if over <= 0:
                break
            over -= len(block.payload) + len(block.summary)
            dropped.append(key)
        self._drop(dropped)
        for chunk_key in sorted(self._chunks, key=lambda key: self._chunks[key][1]):
            if over <= 0:
                break
            over -= len(encode_chunk(self._chunks.pop(chunk_key)[0]))
        return len(dropped)

    def _drop(self, keys: Sequence[BlockKey]) -> None:
        for key in keys:
            del self._blocks[key]
            self._hours.pop(key, None)
            self._pending.discard(key)

    def size_bytes(self) -> int:
        """Return the size of the encoded rows, series and documents, without Python's overhead."""
        with self._lock:
            return (
                sum(len(block.payload) + len(block.summary) for block in self._blocks.values())
                + sum(len(encode_chunk(chunk)) for chunk, _ in self._chunks.values())
                + sum(len(document.body) for document in self._documents.values())
            )

    def backup(self, path: str) -> None:
        raise StoreError(f"cannot back up a store in memory to {path}; set store.url to sqlite:///PATH to keep data")

    def close(self) -> None:
        """Do nothing, because nothing was opened."""


def _points(block: Block) -> BlockPoints:
    return BlockPoints(block.key.epoch, block.key.number, block.first_ns, decode_summary(block.summary))
