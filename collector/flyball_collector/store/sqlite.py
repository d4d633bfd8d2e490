"""The embedded store: one SQLite file.

A block is written under SQLite's write lock (`BEGIN IMMEDIATE`: read, merge, write), so writers of several processes
cannot lose each other's rows. Whatever `put_blocks` has returned survives a power failure: see `sqlite_file.py`.
"""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from flyball_collector.blocks.block import Block, BlockKey
from flyball_collector.store.contract import Document, Lease, MinuteSeries, StoreConflict
from flyball_collector.store.definitions import DEFINITIONS, LayoutFinder, belongs_to
from flyball_collector.store.ranges_bytes import pack_ranges, unpack_ranges
from flyball_collector.store.sqlite_backup import backup
from flyball_collector.store.sqlite_expiry import expire, size_bytes
from flyball_collector.store.sqlite_file import SqliteFile
from flyball_collector.store.sqlite_minutes import SqliteMinutes
from flyball_collector.store.stored_merge import merge_with_stored
from flyball_proto.ranges import RangeSet

_BLOCK = """
SELECT h.name, e.epoch, b.number, b.ticks, b.present, b.lost, b.refused, b.first_ns, b.last_ns, b.received_ns,
       b.payload, b.summary
FROM blocks b JOIN epochs e ON e.id = b.epoch_id JOIN hosts h ON h.id = b.host_id
"""
_BLOCK_BY_ID = _BLOCK + "WHERE b.id = ?"
_BLOCK_BY_KEY = _BLOCK + "WHERE b.epoch_id = ? AND b.number = ?"
_INSERT_BLOCK = """
INSERT INTO blocks (ticks, first_ns, last_ns, received_ns, present, lost, refused, summary, payload, epoch_id, number,
                    host_id, revision, pending)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1)
"""
_UPDATE_BLOCK = """
UPDATE blocks SET ticks = ?, first_ns = ?, last_ns = ?, received_ns = ?, present = ?, lost = ?, refused = ?,
                  summary = ?, payload = ?, revision = revision + 1, pending = 1
WHERE epoch_id = ? AND number = ?
"""
_SETTLED = """
SELECT b.number, b.ticks, b.present, b.lost, b.refused
FROM blocks b JOIN epochs e ON e.id = b.epoch_id JOIN hosts h ON h.id = e.host_id
WHERE h.name = ? AND e.epoch = ? AND (b.number + 1) * b.ticks > ?
"""
_DOCUMENT = "SELECT kind, id, body, revision, updated_ns FROM documents WHERE kind = ? AND id = ?"
_PUT_DOCUMENT = """
INSERT INTO documents (kind, id, body, revision, updated_ns) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (kind, id)
DO UPDATE SET body = excluded.body, revision = revision + 1, updated_ns = excluded.updated_ns
"""
_DOCUMENTS = """
SELECT kind, id, body, revision, updated_ns FROM documents WHERE kind = ? AND substr(id, 1, ?) = ? ORDER BY id
"""
_DOCUMENT_RANGE = """
SELECT kind, id, body, revision, updated_ns FROM documents WHERE kind = ? AND id >= ? AND id < ? ORDER BY id
"""
_FORGET_DOCUMENT = "DELETE FROM documents WHERE kind = ? AND id = ?"
# The row of a name, inserted when it is new: (select, insert).
_HOST = ("SELECT id FROM hosts WHERE name = ?", "INSERT INTO hosts (name) VALUES (?)")
_EPOCH = (
    "SELECT id FROM epochs WHERE host_id = ? AND epoch = ?",
    "INSERT INTO epochs (host_id, epoch) VALUES (?, ?)",
)
_READ_AT_ONCE = 32  # blocks, about 40 KB each


class SqliteStore:
    """A store in one file."""

    def __init__(self, path: Path | str, *, clock: Callable[[], int] = time.time_ns) -> None:
        self.path = Path(path)
        self._clock = clock
        self._file = SqliteFile(self.path)
        layouts = LayoutFinder(self.get_document)
        self._minutes = SqliteMinutes(self._file, layouts, LayoutFinder(self.get_document, "columns"), clock)

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        if not blocks:
            return []
        with self._file.write("writing blocks") as connection:
            return [self._put_block(connection, block) for block in blocks]

    def _put_block(self, connection: sqlite3.Connection, block: Block) -> RangeSet:
        key = block.key
        host_id = _id_of(connection, _HOST, key.host)
        epoch_id = _id_of(connection, _EPOCH, host_id, key.epoch)
        row = connection.execute(_BLOCK_BY_KEY, (epoch_id, key.number)).fetchone()
        if row is None:
            connection.execute(_INSERT_BLOCK, (*_values(block), epoch_id, key.number, host_id))
            return block.settled
        merged = merge_with_stored(_to_block(row), block)
        connection.execute(_UPDATE_BLOCK, (*_values(merged), epoch_id, key.number))
        return merged.settled

    def settled(self, host: str, epoch: bytes, from_sequence: int) -> RangeSet:
        with self._file.read("reading settled sequences") as connection:
            rows = connection.execute(_SETTLED, (host, epoch, from_sequence)).fetchall()
        ranges = [
            part for number, ticks, *sets in rows for kind in sets for part in unpack_ranges(kind, number * ticks)
        ]
        return RangeSet((max(first, from_sequence), following) for first, following in ranges)

    def read_blocks(self, host: str, start_ns: int, end_ns: int) -> Iterator[Block]:
        with self._file.read("finding blocks") as connection:
            ids = [
                int(row[0])
                for row in connection.execute(
                    "SELECT b.id FROM blocks b JOIN hosts h ON h.id = b.host_id"
                    " WHERE h.name = ? AND b.last_ns >= ? AND b.first_ns < ? ORDER BY b.first_ns, b.epoch_id, b.number",
                    (host, start_ns, end_ns),
                )
            ]
        for start in range(0, len(ids), _READ_AT_ONCE):
            yield from self._blocks_by_id(ids[start : start + _READ_AT_ONCE])

    def _blocks_by_id(self, ids: Sequence[int]) -> list[Block]:
        """Return the blocks that still exist."""
        with self._file.read("reading blocks") as connection:
            rows = [connection.execute(_BLOCK_BY_ID, (id_,)).fetchone() for id_ in ids]
        return [_to_block(row) for row in rows if row is not None]

    def roll_up(self, until_ns: int) -> int:
        return self._minutes.roll_up(until_ns)

    def read_minutes(self, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> list[MinuteSeries]:
        return self._minutes.read(host, metrics, start_ns, end_ns)

    def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002
        with self._file.write("writing a document") as connection:
            row = connection.execute("SELECT revision FROM documents WHERE kind = ? AND id = ?", (kind, id)).fetchone()
            revision = 0 if row is None else int(row[0])
            if expected is not None and expected != revision:
                raise StoreConflict(f"document {kind}/{id} has revision {revision}, not {expected}; read it again")
            connection.execute(_PUT_DOCUMENT, (kind, id, body, self._clock()))
        return revision + 1

    def put_documents(
        self, documents: Sequence[tuple[str, str, bytes]], *, forget: Collection[tuple[str, str]] = ()
    ) -> None:
        now_ns = self._clock()
        with self._file.write("writing documents") as connection:
            connection.executemany(_PUT_DOCUMENT, [(*document, now_ns) for document in documents])
            connection.executemany(_FORGET_DOCUMENT, forget)

    def get_document(self, kind: str, id: str) -> Document | None:  # noqa: A002
        with self._file.read("reading a document") as connection:
            row = connection.execute(_DOCUMENT, (kind, id)).fetchone()
        return None if row is None else Document(*row)

    def list_documents(self, kind: str, prefix: str = "") -> list[Document]:
        with self._file.read("listing documents") as connection:
            rows = connection.execute(_DOCUMENTS, (kind, len(prefix), prefix)).fetchall()
        return [Document(*row) for row in rows]

    def read_documents(
        self, kind: str, start: str, end: str, *, limit: int, newest_first: bool = False
    ) -> list[Document]:
        order = " DESC LIMIT ?" if newest_first else " LIMIT ?"
        with self._file.read("reading documents") as connection:
            rows = connection.execute(_DOCUMENT_RANGE + order, (kind, start, end, limit)).fetchall()
        return [Document(*row) for row in rows]

    def delete_document(self, kind: str, id: str) -> bool:  # noqa: A002
        with self._file.write("deleting a document") as connection:
            return connection.execute(_FORGET_DOCUMENT, (kind, id)).rowcount > 0

    def acquire_lease(self, name: str, holder: str, seconds: float) -> Lease | None:
        now = self._clock()
        with self._file.write("taking a lease") as connection:
            row = connection.execute("SELECT holder, token, expires_ns FROM leases WHERE name = ?", (name,)).fetchone()
            alive = row is not None and row[2] > now
            if alive and row[0] != holder:
                return None
            token = 1 if row is None else row[1] + (not alive)
            lease = Lease(name, holder, token, now + int(seconds * 1e9))
            connection.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", (name, holder, token, lease.expires_ns)
            )
        return lease

    def remove_host(self, host: str) -> int:
        with self._file.write("removing a host") as connection:
            for kind, id_ in connection.execute("SELECT kind, id FROM documents").fetchall():
                if kind not in DEFINITIONS and belongs_to(id_, host):
                    connection.execute(_FORGET_DOCUMENT, (kind, id_))
            row = connection.execute("SELECT id FROM hosts WHERE name = ?", (host,)).fetchone()
            if row is None:
                return 0
            gone = connection.execute("DELETE FROM blocks WHERE host_id = ?", row).rowcount
            connection.execute("DELETE FROM chunks WHERE host_id = ?", row)
            connection.execute("DELETE FROM epochs WHERE host_id = ?", row)
            connection.execute("DELETE FROM hosts WHERE id = ?", row)
        return gone

    def expire(self, *, blocks_before_ns: int, minutes_before_ns: int, max_bytes: int | None) -> int:
        return expire(self._file, blocks_before_ns, minutes_before_ns, max_bytes)

    def size_bytes(self) -> int:
        return size_bytes(self.path)

    def backup(self, path: str) -> None:
        backup(self._file, Path(path))

    def close(self) -> None:
        self._file.close()


def _id_of(connection: sqlite3.Connection, named: tuple[str, str], *values: str | bytes | int) -> int:
    select, insert = named
    row = connection.execute(select, values).fetchone()
    return int(row[0]) if row is not None else int(connection.execute(insert, values).lastrowid or 0)


def _values(block: Block) -> tuple[int | bytes, ...]:
    first = block.key.number * block.ticks
    ranges = (pack_ranges(part, first) for part in (block.present, block.lost, block.refused))
    return block.ticks, block.first_ns, block.last_ns, block.received_ns, *ranges, block.summary, block.payload


def _to_block(row: tuple[Any, ...]) -> Block:
    host, epoch, number, ticks, present, lost, refused, first_ns, last_ns, received_ns, payload, summary = row
    first = number * ticks
    return Block(
        key=BlockKey(host, epoch, number),
        ticks=ticks,
        present=unpack_ranges(present, first),
        lost=unpack_ranges(lost, first),
        refused=unpack_ranges(refused, first),
        first_ns=first_ns,
        last_ns=last_ns,
        received_ns=received_ns,
        payload=payload,
        summary=summary,
    )
