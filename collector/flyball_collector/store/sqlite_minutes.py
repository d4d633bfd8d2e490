"""Minute series in SQLite: a chunk for each host, metric and hour; summaries of blocks until they are rolled up."""

import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import structlog

from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.summary import LayoutSummary, decode_summary
from flyball_collector.store.contract import MinuteSeries, StoreError
from flyball_collector.store.definitions import LayoutFinder, definition_id
from flyball_collector.store.minutes import (
    HOUR_NS,
    BlockPoints,
    Chunk,
    chunks_of,
    columns_layout,
    decode_chunk,
    encode_chunk,
    hour_of,
    merge,
    series_of,
    without,
)
from flyball_collector.store.sqlite_file import SqliteFile

_log = structlog.get_logger(__name__)

_PENDING = """
SELECT b.id, b.revision, b.received_ns, b.rolled_hour, e.epoch, b.number, b.first_ns, b.summary
FROM blocks b JOIN epochs e ON e.id = b.epoch_id WHERE b.pending AND b.host_id = ?
"""
_DEFINE = "INSERT OR IGNORE INTO documents (kind, id, body, revision, updated_ns) VALUES ('columns', ?, ?, 1, ?)"
_PUT_CHUNK = """
INSERT INTO chunks (host_id, metric_id, hour, received_ns, body)
VALUES (?, (SELECT id FROM metrics WHERE name = ?), ?, ?, ?)
ON CONFLICT (host_id, metric_id, hour)
DO UPDATE SET body = excluded.body, received_ns = max(received_ns, excluded.received_ns)
"""
_PAUSE_SECONDS = 0.001  # between hosts, so that ingest can write


@dataclass(frozen=True, slots=True)
class _Pending:
    """A block whose points are not in chunks, or have changed since."""

    id: int
    revision: int
    received_ns: int
    rolled_hour: int | None
    points: BlockPoints

    @property
    def name(self) -> tuple[bytes, int]:
        return self.points.epoch, self.points.number


class SqliteMinutes:
    """Rolls blocks up into chunks, and reads both together."""

    def __init__(
        self, file: SqliteFile, layouts: LayoutFinder, columns: LayoutFinder, clock: Callable[[], int]
    ) -> None:
        self._file = file
        self._layouts = layouts
        self._columns = columns
        self._clock = clock

    def roll_up(self, until_ns: int) -> int:
        """Make chunks without the write lock, and write them only if their blocks have not changed meanwhile."""
        with self._file.read("finding summaries") as connection:
            due = connection.execute(
                "SELECT DISTINCT host_id, first_ns / ? FROM blocks WHERE pending AND first_ns < ?",
                (HOUR_NS, hour_of(until_ns) * HOUR_NS),
            ).fetchall()
        done = 0
        for host_id, hour in due:
            done += self._roll_hour(host_id, hour)
            time.sleep(_PAUSE_SECONDS)
        return done

    def _roll_hour(self, host_id: int, hour: int) -> bool:
        with self._file.read("reading summaries") as connection:
            condition = f"{_PENDING} AND b.first_ns >= ? AND b.first_ns < ?"
            bounds = (host_id, hour * HOUR_NS, (hour + 1) * HOUR_NS)
            blocks = [_to_pending(row) for row in connection.execute(condition, bounds)]
            fresh = chunks_of([block.points for block in blocks], self._layouts)
            chunks = {name: self._with_stored(connection, host_id, name, hour, chunk) for name, chunk in fresh.items()}
        encoded = {name: (columns_layout(chunk), encode_chunk(chunk)) for name, chunk in chunks.items()}
        with self._file.write("writing minute series") as connection:
            if not blocks or not _unchanged(connection, blocks):
                return False  # a block has changed meanwhile: the next roll-up takes it
            received_ns = max(block.received_ns for block in blocks)
            for name, (layout, body) in encoded.items():
                connection.execute(_DEFINE, (definition_id(layout.digest), layout.body, self._clock()))
                connection.execute("INSERT OR IGNORE INTO metrics (name) VALUES (?)", (name,))
                connection.execute(_PUT_CHUNK, (host_id, name, hour, received_ns, body))
            self._forget_moved(connection, host_id, hour, blocks)
            connection.executemany(
                "UPDATE blocks SET pending = 0, rolled_hour = ?, summary = x'' WHERE id = ?",
                [(hour, block.id) for block in blocks],
            )
        return True

    def _with_stored(self, connection: sqlite3.Connection, host_id: int, name: str, hour: int, chunk: Chunk) -> Chunk:
        row = connection.execute(
            "SELECT body FROM chunks WHERE host_id = ? AND hour = ?"
            " AND metric_id = (SELECT id FROM metrics WHERE name = ?)",
            (host_id, hour, name),
        ).fetchone()
        stored = None if row is None else self._decode(row[0])
        return chunk if stored is None else merge(stored, chunk)

    def _forget_moved(
        self, connection: sqlite3.Connection, host_id: int, hour: int, blocks: Sequence[_Pending]
    ) -> None:
        """Remove old points of blocks that now begin in another hour, because an earlier row came late."""
        moved = [block for block in blocks if block.rolled_hour is not None and block.rolled_hour != hour]
        for before in {block.rolled_hour for block in moved}:
            names = {block.name for block in moved if block.rolled_hour == before}
            rows = connection.execute("SELECT id, body FROM chunks WHERE host_id = ? AND hour = ?", (host_id, before))
            for id_, body in rows.fetchall():
                chunk = self._decode(body)
                if chunk is not None and (rest := without(chunk, names)).epochs:
                    connection.execute("UPDATE chunks SET body = ? WHERE id = ?", (encode_chunk(rest), id_))
                else:
                    connection.execute("DELETE FROM chunks WHERE id = ?", (id_,))

    def read(self, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> list[MinuteSeries]:
        """Read chunks and the summaries of newer blocks. A block that has changed since replaces its old points."""
        with self._file.read("reading minute series") as connection:
            row = connection.execute("SELECT id FROM hosts WHERE name = ?", (host,)).fetchone()
            if row is None:
                return []
            pending = self._pending(connection, row[0], start_ns, end_ns)
            # A block that begins before the hour may have points within it, so the hour before is read as well.
            bodies = {
                metric: _bodies(connection, row[0], metric, hour_of(start_ns) - 1, hour_of(end_ns - 1))
                for metric in sorted(set(metrics))
            }
        newer = chunks_of([block.points for block in pending], self._layouts, metrics)
        replaced = {block.name for block in pending if block.rolled_hour is not None}
        series: list[MinuteSeries] = []
        for metric, encoded in bodies.items():
            chunks = [chunk for body in encoded if (chunk := self._decode(body)) is not None]
            if replaced:
                chunks = [without(chunk, replaced) for chunk in chunks]
            if metric in newer:
                chunks.append(newer[metric])
            series += series_of(chunks, start_ns, end_ns)
        return series

    def _pending(self, connection: sqlite3.Connection, host_id: int, start_ns: int, end_ns: int) -> list[_Pending]:
        condition = f"{_PENDING} AND (b.rolled_hour IS NOT NULL OR (b.last_ns >= ? AND b.first_ns < ?))"
        return [_to_pending(row) for row in connection.execute(condition, (host_id, start_ns, end_ns))]

    def _decode(self, body: bytes) -> Chunk | None:
        try:
            return decode_chunk(body, self._columns)
        except BlockError as error:
            raise StoreError(f"a minute series in {self._file.path} is damaged: {error}; restore a backup") from None


def _to_pending(row: tuple[int, int, int, int | None, bytes, int, int, bytes]) -> _Pending:
    id_, revision, received_ns, rolled_hour, epoch, number, first_ns, summary = row
    return _Pending(
        id_, revision, received_ns, rolled_hour, BlockPoints(epoch, number, first_ns, _summaries(summary, number))
    )


def _summaries(encoded: bytes, number: int) -> tuple[LayoutSummary, ...]:
    """Decode a summary. A damaged one loses its minute, not the roll-up of its host."""
    try:
        return decode_summary(encoded)
    except BlockError as error:
        _log.error("stored_summary_damaged", number=number, reason=str(error))
        return ()


def _unchanged(connection: sqlite3.Connection, blocks: Sequence[_Pending]) -> bool:
    ask = "SELECT 1 FROM blocks WHERE id = ? AND revision = ? AND pending"
    return all(connection.execute(ask, (block.id, block.revision)).fetchone() for block in blocks)


def _bodies(connection: sqlite3.Connection, host_id: int, metric: str, first_hour: int, last_hour: int) -> list[bytes]:
    rows = connection.execute(
        "SELECT body FROM chunks WHERE host_id = ? AND metric_id = (SELECT id FROM metrics WHERE name = ?)"
        " AND hour BETWEEN ? AND ? ORDER BY hour",
        (host_id, metric, first_hour, last_hour),
    )
    return [row[0] for row in rows]
