"""Expiry in SQLite: what is too old goes, then what is too much; and the file really gets smaller."""

from pathlib import Path

from flyball_collector.store.sqlite_file import BUSY_SECONDS, SqliteFile, pragma

_AT_ONCE = 256  # rows a transaction, so that a writer waits a moment, not minutes
_VACUUM_PAGES = 4096
_FREE_SHARE = 0.1  # of the file that may lie idle, to be written again, before it is made smaller

_OLD_BLOCKS = (
    "DELETE FROM blocks WHERE id IN"
    " (SELECT id FROM blocks WHERE pending IN (0, 1) AND received_ns < ? ORDER BY pending, received_ns LIMIT ?)"
)
_OLD_CHUNKS = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE received_ns < ? LIMIT ?)"

# What goes for room: how large a row is, and the oldest rows. Of blocks, what is not rolled up goes last.
_BLOCK_BYTES = "SELECT avg(length(payload)) FROM (SELECT payload FROM blocks ORDER BY pending, received_ns LIMIT 16)"
_OLDEST_BLOCKS = "DELETE FROM blocks WHERE id IN (SELECT id FROM blocks ORDER BY pending, received_ns LIMIT ?)"
_CHUNK_BYTES = "SELECT avg(length(body)) FROM (SELECT body FROM chunks ORDER BY received_ns LIMIT 16)"
_OLDEST_CHUNKS = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks ORDER BY received_ns LIMIT ?)"


def expire(file: SqliteFile, blocks_before_ns: int, minutes_before_ns: int, max_bytes: int | None) -> int:
    """Returns the number of blocks that went."""
    gone = _delete_older(file, _OLD_BLOCKS, blocks_before_ns)
    _delete_older(file, _OLD_CHUNKS, minutes_before_ns)
    if max_bytes is not None:
        gone += _make_room(file, _BLOCK_BYTES, _OLDEST_BLOCKS, max_bytes)
        _make_room(file, _CHUNK_BYTES, _OLDEST_CHUNKS, max_bytes)
    with file.write("forgetting epochs") as connection:
        connection.execute("DELETE FROM epochs WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE epoch_id = epochs.id)")
    _give_back(file, max_bytes)
    return gone


def size_bytes(path: Path) -> int:
    """The file and its log."""
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
        with file.write("making room") as connection:
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
    """Make the file smaller when much of it lies idle, or when it is over its limit."""
    with file.exclusive("making the file smaller") as connection:
        pages, free = pragma(connection, "page_count"), pragma(connection, "freelist_count")
    over = max_bytes is not None and size_bytes(file.path) > max_bytes
    if not over and free <= _FREE_SHARE * pages:
        return
    while free > 0:
        with file.exclusive("making the file smaller") as connection:
            connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
            left = pragma(connection, "freelist_count")
        if left >= free:
            break
        free = left
    with file.exclusive("making the file smaller") as connection:
        # The file itself is cut when the log is moved into it; a reader in the way only puts that off.
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
