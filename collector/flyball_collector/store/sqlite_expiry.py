"""Expiry in SQLite: deletes what is too old, then what is too much, and shrinks the file."""

from pathlib import Path

from flyball_collector.store.sqlite_file import BUSY_SECONDS, SqliteFile, pragma

_AT_ONCE = 256  # rows per transaction, so that a writer waits for a moment, not minutes
_VACUUM_PAGES = 4096
_FREE_SHARE = 0.1  # of the file that may be free for reuse before it is shrunk

_OLD_BLOCKS = (
    "DELETE FROM blocks WHERE id IN"
    " (SELECT id FROM blocks WHERE pending IN (0, 1) AND received_ns < ? ORDER BY pending, received_ns LIMIT ?)"
)
_OLD_CHUNKS = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE received_ns < ? LIMIT ?)"

# For the size limit: the mean size of a row, and the oldest rows. Blocks that are not rolled up are deleted last.
_BLOCK_BYTES = "SELECT avg(length(payload)) FROM (SELECT payload FROM blocks ORDER BY pending, received_ns LIMIT 16)"
_OLDEST_BLOCKS = "DELETE FROM blocks WHERE id IN (SELECT id FROM blocks ORDER BY pending, received_ns LIMIT ?)"
_CHUNK_BYTES = "SELECT avg(length(body)) FROM (SELECT body FROM chunks ORDER BY received_ns LIMIT 16)"
_OLDEST_CHUNKS = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks ORDER BY received_ns LIMIT ?)"


def expire(file: SqliteFile, blocks_before_ns: int, minutes_before_ns: int, max_bytes: int | None) -> int:
    """Delete old data. Return the number of deleted blocks."""
    gone = _delete_older(file, _OLD_BLOCKS, blocks_before_ns)
    _delete_older(file, _OLD_CHUNKS, minutes_before_ns)
    if max_bytes is not None:
        gone += _make_room(file, _BLOCK_BYTES, _OLDEST_BLOCKS, max_bytes)
        _make_room(file, _CHUNK_BYTES, _OLDEST_CHUNKS, max_bytes)
    with file.write("deleting epochs") as connection:
        connection.execute("DELETE FROM epochs WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE epoch_id = epochs.id)")
    _give_back(file, max_bytes)
    return gone


def size_bytes(path: Path) -> int:
    """Return the size of the file and its log."""
    return sum(_file_bytes(name) for name in (path, path.with_name(path.name + "-wal")))


def _delete_older(file: SqliteFile, statement: str, before_ns: int) -> int:
    total = 0
    while True:
        with file.write("expiring") as connection:
            gone = connection.execute(statement, (before_ns, _AT_ONCE)).rowcount
        total += gone
        if gone < _AT_ONCE:
            return total


def _make_room(file: SqliteFile, average: str, delete: str, max_bytes: int) -> int:
    total = 0
    while (over := _used_bytes(file) - max_bytes) > 0:
        with file.write("freeing space") as connection:
            row_bytes = connection.execute(average).fetchone()[0]
            if row_bytes is None:
                break
            count = min(max(int(over / (row_bytes + 256)), 1), _AT_ONCE)
            total += connection.execute(delete, (count,)).rowcount
    return total


def _used_bytes(file: SqliteFile) -> int:
    with file.read("measuring the store") as connection:
        pages = pragma(connection, "page_count") - pragma(connection, "freelist_count")
        return pages * pragma(connection, "page_size")


def _give_back(file: SqliteFile, max_bytes: int | None) -> None:
    """Shrink the file if much of it is free, or if it is over its limit."""
    with file.exclusive("shrinking the file") as connection:
        pages, free = pragma(connection, "page_count"), pragma(connection, "freelist_count")
    over = max_bytes is not None and size_bytes(file.path) > max_bytes
    if not over and free <= _FREE_SHARE * pages:
        return
    while free > 0:
        with file.exclusive("shrinking the file") as connection:
            connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
            left = pragma(connection, "freelist_count")
        if left >= free:
            break
        free = left
    with file.exclusive("shrinking the file") as connection:
        # The file is truncated when the log is moved into it. A reader only delays that.
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
