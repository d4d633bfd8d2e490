"""The embedded store: its file, its errors, and processes that race for it or are killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flyball_collector.blocks.testing import SECOND_NS, START_NS, TEMPERATURE, small_block, small_layout
from flyball_collector.store import sqlite_file
from flyball_collector.store.contract import StoreError, StoreUnavailable
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.sqlite import SqliteStore
from flyball_proto.ranges import RangeSet

EPOCH = b"e" * 16
FAR_NS = START_NS + 10**18

# Writes every other sequence of the same blocks, one sequence a call. PART selects which.
RACER = """
import sys
from flyball_collector.blocks.testing import small_block
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.sqlite import SqliteStore
path, part = sys.argv[1], int(sys.argv[2])
store = SqliteStore(path)
for sequence in range(part, 120, 2):
    store.put_blocks([small_block(number=sequence // 60, present=[sequence])])
"""

# Prints the end of the settled sequences after each write, until it is killed.
WRITER = """
import itertools, sys
from flyball_collector.blocks.testing import small_block
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
start = int(sys.argv[2])
for number in itertools.count(start):
    for part in (0, 1):
        first = 60 * number + 30 * part
        (settled,) = store.put_blocks([small_block(number=number, present=range(first, first + 30))])
        assert first in settled
        print(first + 30, flush=True)
"""


def test_two_processes_with_halves_of_a_block_lose_nothing(tmp_path: Path) -> None:
    """Racing writers of one block end with every row of both, once."""
    path = tmp_path / "flyball.db"
    racers = [subprocess.Popen([sys.executable, "-c", RACER, str(path), str(part)]) for part in (0, 1)]
    assert [racer.wait(60) for racer in racers] == [0, 0]
    store = SqliteStore(path)
    blocks = list(store.read_blocks("a", 0, FAR_NS))
    assert [block.present for block in blocks] == [RangeSet([(0, 60)]), RangeSet([(60, 120)])]
    store.close()


def test_settled_data_survive_kill(tmp_path: Path) -> None:
    """After each `kill -9` everything that was returned as settled is complete, and writing continues."""
    path = tmp_path / "flyball.db"
    settled = 0
    for round_ in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(settled // 60)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(3 + 5 * round_):
            settled = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")[:-1]  # its output before the signal
        settled = int(rest[-1]) if rest else settled
        writer.wait(60)
        writer.stdout.close()
        store = SqliteStore(path)
        assert store.settled("a", EPOCH, 0).prefix_from(0) >= settled
        store.close()
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


def test_commits_are_flushed(tmp_path: Path) -> None:
    """The write-ahead log is flushed at each commit, so a power failure loses nothing acknowledged."""
    file = sqlite_file.SqliteFile(tmp_path / "flyball.db")
    with file.exclusive("looking") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert sqlite_file.pragma(connection, "synchronous") == 2
        assert sqlite_file.pragma(connection, "auto_vacuum") == 2
    file.close()


def test_a_locked_store_is_unavailable_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process locks the file, writing fails with a reason after a limited time; then it works again."""
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    path = tmp_path / "flyball.db"
    store = SqliteStore(path)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match=r"writing blocks in .*flyball\.db failed: .*locked.*end that process"):
        store.put_blocks([small_block()])
    assert store.settled("a", EPOCH, 0) == RangeSet()  # reading continues
    blocker.execute("ROLLBACK")
    blocker.close()
    assert store.put_blocks([small_block()]) == [RangeSet([(0, 60)])]
    store.close()


def test_a_full_store_is_unavailable_and_recovers(tmp_path: Path) -> None:
    """Without space nothing of the batch is stored; with space writing continues."""
    store = SqliteStore(tmp_path / "flyball.db")
    with store._file.exclusive("limiting") as connection:
        pages = sqlite_file.pragma(connection, "page_count")
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreUnavailable, match="disk is full: free space"):
        store.put_blocks([small_block(number=number) for number in range(100)])
    assert store.settled("a", EPOCH, 0) == RangeSet()
    assert len(store.put_blocks([small_block(number=number) for number in range(100)])) == 100  # a new connection
    store.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a database " * 1000, "not a SQLite file"),
        (b"SQLite format 3\0" + b"\xff" * 5000, "SQLite file|damaged"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """A foreign or damaged file is an error with a remedy, and the file stays as it is."""
    path = tmp_path / "flyball.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """An older program does not touch a newer file, and asks for an upgrade."""
    path = tmp_path / "flyball.db"
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StoreError, match="schema 9, this version of Flyball supports up to 1: upgrade"):
        SqliteStore(path)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    """Its tables are not mixed with ours."""
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="tables of another program"):
        SqliteStore(path)


def test_damage_inside_the_file_is_reported(tmp_path: Path) -> None:
    """A damaged page is an error that names the file and the remedy."""
    path = tmp_path / "flyball.db"
    store = SqliteStore(path)
    store.put_blocks([small_block(number=number) for number in range(200)])
    store.close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xa5" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="damaged: restore a backup"):
        list(SqliteStore(path).read_blocks("a", 0, FAR_NS))


def test_a_damaged_block_is_replaced(tmp_path: Path) -> None:
    """A stored payload that does not decode is replaced by rows that arrive again, so its host can continue."""
    path = tmp_path / "flyball.db"
    store = SqliteStore(path)
    store.put_blocks([small_block(present=range(30))])
    with store._file.write("damaging") as connection:
        connection.execute("UPDATE blocks SET payload = x'00'")
    assert store.put_blocks([small_block(present=range(20, 60))]) == [RangeSet([(20, 60)])]
    store.close()


def test_a_damaged_summary_costs_its_minute_only(tmp_path: Path) -> None:
    """The other minutes of the hour are rolled up."""
    layout = small_layout(gpus=1)
    store = SqliteStore(tmp_path / "flyball.db")
    store.put_document("layout", definition_id(layout.digest), layout.layout.body)
    store.put_blocks([small_block(number=number, layout=layout) for number in range(3)])
    with store._file.write("damaging") as connection:
        connection.execute("UPDATE blocks SET summary = x'00' WHERE number = 1")
    assert store.roll_up(FAR_NS) == 1
    (series,) = store.read_minutes("a", [TEMPERATURE.name], 0, FAR_NS)
    assert series.maximum.tolist() == [59.0, 179.0]
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_reported(tmp_path: Path) -> None:
    """The error names the path."""
    tmp_path.chmod(0o500)
    with pytest.raises(StoreUnavailable, match=r"opening the store failed: .*no write permission"):
        SqliteStore(tmp_path / "deeper" / "flyball.db")
    tmp_path.chmod(0o700)


def test_a_file_is_private_and_its_folder_is_created(tmp_path: Path) -> None:
    """Other users cannot read it."""
    path = tmp_path / "a" / "b" / "flyball.db"
    SqliteStore(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_closed_store_is_reported(tmp_path: Path) -> None:
    """Using it is an error, not a crash; closing it twice is allowed."""
    store = SqliteStore(tmp_path / "flyball.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.settled("a", EPOCH, 0)


def test_backup_while_writing_is_consistent(tmp_path: Path) -> None:
    """A copy made while a writer is active opens, is intact, and has everything settled before it began."""
    store = SqliteStore(tmp_path / "flyball.db")
    store.put_blocks([small_block(number=number) for number in range(50)])
    stop = threading.Event()

    def write() -> None:
        number = 50
        while not stop.is_set():
            store.put_blocks([small_block(number=number)])
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    copies = [tmp_path / "copy.db", tmp_path / "copy.db"]  # the second replaces the first
    for copy in copies:
        store.backup(str(copy))
    stop.set()
    writer.join()
    store.close()
    again = SqliteStore(copies[0])
    settled = again.settled("a", EPOCH, 0)
    assert settled.prefix_from(0) >= 3000
    assert len(list(settled)) == 1
    assert len(list(again.read_blocks("a", 0, FAR_NS))) == len(settled) // 60
    again.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.db", "flyball.db"]


def test_a_backup_over_the_store_itself_is_refused(tmp_path: Path) -> None:
    """A mistyped path must not destroy the data."""
    store = SqliteStore(tmp_path / "flyball.db")
    with pytest.raises(StoreError, match="is the store itself"):
        store.backup(str(tmp_path / "flyball.db"))
    with pytest.raises(StoreUnavailable, match=r"writing the backup failed: .*there is no folder"):
        store.backup(str(tmp_path / "nowhere" / "copy.db"))
    store.close()


def test_an_abandoned_reader_blocks_no_writer(tmp_path: Path) -> None:
    """Blocks are read in portions: an abandoned iterator keeps no view of the file open."""
    store = SqliteStore(tmp_path / "flyball.db")
    store.put_blocks([small_block(number=number) for number in range(100)])
    blocks = store.read_blocks("a", 0, FAR_NS)
    next(blocks)
    gone = store.expire(blocks_before_ns=START_NS + 60 * 90 * SECOND_NS, minutes_before_ns=0, max_bytes=None)
    assert gone == 89
    assert [block.key.number for block in blocks][-11:] == list(range(89, 100))
    store.close()
