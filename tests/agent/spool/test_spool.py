"""Tests of the spool: it keeps unsettled records, declares every loss, and never raises into sampling."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.format import EntryKind, SpoolEntry, entries_start, scan
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.testing import FakeHostClock
from flyball_proto.ranges import RangeSet

EPOCH = an_epoch(1)
SMALL = SpoolSettings(max_bytes=64 * 1024, segment_bytes=8192, memory_bytes=16 * 1024)


class Bench:
    """A spool with its clock and metrics."""

    def __init__(self, directory: Path, settings: SpoolSettings | None = None) -> None:
        self.directory = directory
        self.settings = settings or SpoolSettings()
        self.clock = FakeHostClock()
        self.events: list[str] = []
        self.open()

    def open(self) -> Spool:
        self.self_metrics = SelfMetrics()
        self.spool = Spool(
            self.directory,
            self.settings,
            clock=self.clock,
            self_metrics=self.self_metrics,
            announce=lambda kind, _text: self.events.append(kind),
        )
        return self.spool

    def append(self, first: int, following: int) -> None:
        for sequence in range(first, following):
            self.spool.append(a_tick(sequence))
            self.clock.advance(1)

    def read_all(self, epoch: bytes = EPOCH.id) -> list[int]:
        found: list[int] = []
        for start, following in self.spool.held(epoch):
            first = start
            while first < following:
                records = self.spool.read(epoch, first, following, 4096)
                assert records
                found += [record.sequence for record in records]
                first = found[-1] + 1
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Yield an empty spool in its first epoch."""
    bench = Bench(tmp_path / "spool")
    bench.spool.begin(EPOCH)
    yield bench
    bench.spool.close()


def test_records_are_read_back(bench: Bench) -> None:
    """Records and their definitions are read back in order."""
    bench.append(0, 300)
    assert bench.read_all() == list(range(300))
    record = bench.spool.read(EPOCH.id, 123, 124, 10)[0]
    assert record.record == a_tick(123).record
    definition = bench.spool.definition(EPOCH.id, record.needs[0])
    assert definition == a_tick(123).definitions[0]


def test_an_earlier_epoch_is_read_back(bench: Bench) -> None:
    """A new agent finds the old epoch as ended and can read its records."""
    bench.append(0, 100)
    bench.open().begin(an_epoch(2))
    old, new = bench.spool.epochs()
    assert (old.epoch, old.first, old.next, old.ended) == (EPOCH, 0, 100, True)
    assert (new.next, new.ended) == (0, False)
    assert bench.read_all() == list(range(100))
    record = bench.spool.read(EPOCH.id, 99, 100, 10)[0]
    assert bench.spool.definition(EPOCH.id, record.needs[0]) == a_tick(99).definitions[0]


def test_settled_segments_are_deleted(tmp_path: Path) -> None:
    """Completely settled segments are deleted, and a settled epoch that has ended leaves no files."""
    bench = Bench(tmp_path, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 100)
    files = len(list(tmp_path.glob("*.spool")))
    bench.spool.settle(EPOCH.id, 60)
    assert len(list(tmp_path.glob("*.spool"))) < files
    assert bench.spool.held(EPOCH.id) == RangeSet([(60, 100)])
    bench.spool.begin(an_epoch(2))
    bench.spool.settle(EPOCH.id, 100)
    assert [epoch.epoch for epoch in bench.spool.epochs()] == [an_epoch(2)]
    assert list(tmp_path.glob("*.spool")) == []
    assert bench.self_metrics.records_lost == 0


def test_a_full_spool_declares_the_oldest_lost(tmp_path: Path) -> None:
    """Held and lost records are all that were appended, the size limit holds, and a restart keeps the losses."""
    bench = Bench(tmp_path, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 1000)
    held, lost = bench.spool.held(EPOCH.id), bench.spool.lost(EPOCH.id)
    assert held | lost == RangeSet([(0, 1000)])
    assert not held & lost
    assert bench.self_metrics.records_lost == len(lost) > 0
    assert sum(path.stat().st_size for path in tmp_path.glob("*.spool")) <= SMALL.max_bytes + SMALL.segment_bytes
    bench.open()
    assert bench.spool.lost(EPOCH.id) == lost
    assert bench.spool.held(EPOCH.id) == held


def test_a_completely_dropped_epoch_is_declared_lost(tmp_path: Path) -> None:
    """The file of losses outlives the last segment of an epoch until the collector has settled it."""
    bench = Bench(tmp_path, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 50)
    bench.spool.begin(an_epoch(2))
    bench.append(0, 1000)
    assert bench.spool.lost(EPOCH.id) == RangeSet([(0, 50)])
    bench.open()
    assert bench.spool.lost(EPOCH.id) == RangeSet([(0, 50)])
    bench.spool.settle(EPOCH.id, 50)
    bench.open()
    assert EPOCH.id not in {each.epoch.id for each in bench.spool.epochs()}


def test_old_segments_are_dropped(tmp_path: Path) -> None:
    """A segment beyond the maximum age is deleted, however small it is."""
    bench = Bench(tmp_path, SpoolSettings(max_age_hours=1, segment_bytes=4096))
    bench.spool.begin(EPOCH)
    bench.append(0, 50)
    bench.clock.advance(3700)
    bench.append(50, 52)
    assert bench.spool.held(EPOCH.id) == RangeSet([(50, 52)])
    assert bench.spool.lost(EPOCH.id) == RangeSet([(0, 50)])


def test_a_clock_jump_drops_nothing(tmp_path: Path) -> None:
    """Age is measured with the boot clock, so setting the wall clock deletes nothing."""
    bench = Bench(tmp_path, SpoolSettings(max_age_hours=1, segment_bytes=4096))
    bench.spool.begin(EPOCH)
    bench.append(0, 50)
    bench.clock.step(7200)
    bench.append(50, 100)
    assert bench.spool.held(EPOCH.id) == RangeSet([(0, 100)])


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 12_000))
def test_an_incomplete_write_loses_only_its_record(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """Wherever the last write was interrupted, all complete records are read, and the file is cut there."""
    bench = Bench(tmp_path_factory.mktemp("spool"))
    bench.spool.begin(EPOCH)
    bench.append(0, 40)
    path = next(bench.directory.glob("*.spool"))
    size = path.stat().st_size
    os.truncate(path, max(0, size - cut))
    bench.open()
    found = bench.read_all()
    assert found == list(range(len(found)))
    assert len(found) >= 40 - cut // 200 - 2
    assert bench.self_metrics.records_lost == 0
    if found:
        assert path.stat().st_size <= size - cut


def test_damage_in_the_middle_is_declared_lost(bench: Bench) -> None:
    """Records around the damage are kept; the others are counted and declared lost."""
    bench.append(0, 100)
    path = next(bench.directory.glob("*.spool"))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 500] = b"\x00" * 500
    path.write_bytes(data)
    bench.open()
    held, lost = bench.spool.held(EPOCH.id), bench.spool.lost(EPOCH.id)
    assert held | lost == RangeSet([(0, 100)])
    assert 2 <= len(lost) <= 5
    assert bench.self_metrics.records_lost == len(lost)
    assert bench.read_all() == [n for n in range(100) if n in held]


def the_files(directory: Path) -> list[Path]:
    """Return the segment files, oldest first."""
    return sorted(directory.glob("*.spool"))


def overwrite(path: Path, start: int, length: int) -> None:
    """Overwrite a part of a file with zeros."""
    data = bytearray(path.read_bytes())
    data[start : start + length] = b"\x00" * len(data[start : start + length])
    path.write_bytes(data)


@pytest.mark.parametrize("number", [0, 1])
def test_a_damaged_head_is_declared_lost(tmp_path: Path, number: int) -> None:
    """If the head of a file is damaged, the rest is read, and the lost records are known from the file name."""
    bench = Bench(tmp_path, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 100)
    overwrite(the_files(tmp_path)[number], 0, 500)
    bench.open()
    held, lost = bench.spool.held(EPOCH.id), bench.spool.lost(EPOCH.id)
    assert held | lost == RangeSet([(0, 100)])
    assert 1 <= len(lost) <= 2
    assert bench.spool.epochs()[0].first == 0
    assert bench.read_all() == [number for number in range(100) if number in held]


def test_the_only_file_of_an_epoch_may_lose_its_header(bench: Bench) -> None:
    """The epoch is repeated after the first record."""
    bench.append(0, 100)
    overwrite(the_files(bench.directory)[0], 0, 60)
    bench.open()
    (epoch,) = bench.spool.epochs()
    assert (epoch.epoch, epoch.first, epoch.next) == (EPOCH, 0, 100)
    assert bench.read_all() == list(range(100))


def test_a_file_without_an_epoch_gets_that_of_other_files(tmp_path: Path) -> None:
    """If all epoch entries of a file are damaged, the epoch comes from another file with the same name."""
    bench = Bench(tmp_path, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 100)
    path = the_files(tmp_path)[1]
    data = path.read_bytes()
    epoch_entries = [
        part
        for part in scan(data, entries_start(data))
        if isinstance(part, SpoolEntry) and part.kind == EntryKind.EPOCH
    ]
    assert epoch_entries
    for entry in epoch_entries:
        overwrite(path, entry.start, entry.end - entry.start)
    bench.open()
    assert bench.spool.held(EPOCH.id) == RangeSet([(0, 100)])
    assert bench.read_all() == list(range(100))


def test_settled_records_are_not_lost_after_a_restart(tmp_path: Path) -> None:
    """After a restart, everything before the oldest file counts as settled, not as lost."""
    bench = Bench(tmp_path, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 100)
    bench.spool.settle(EPOCH.id, 60)
    first = bench.open().epochs()[0].first
    assert 0 < first <= 60
    assert bench.spool.held(EPOCH.id) == RangeSet([(first, 100)])
    assert bench.self_metrics.records_lost == 0


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """Other files in the directory are neither loaded nor deleted."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ("f" * 32 + "-000000000000.spool")).write_bytes(b"no spool at all")
    bench = Bench(tmp_path)
    assert bench.spool.epochs() == []
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_records_stay_in_memory_while_the_disk_refuses(tmp_path: Path) -> None:
    """Records go to a ring buffer with a size limit, losses are declared, and the disk is used again when it works."""
    blocked = tmp_path / "spool"
    blocked.write_text("a file where the directory should be")
    bench = Bench(blocked, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 500)
    assert bench.events == ["spool_degraded"]
    assert bench.self_metrics.spool_degraded
    held, lost = bench.spool.held(EPOCH.id), bench.spool.lost(EPOCH.id)
    assert held | lost == RangeSet([(0, 500)])
    assert 0 < len(held) < 80
    assert bench.read_all() == [number for number in range(500) if number in held]
    blocked.unlink()
    bench.clock.advance(120)
    bench.append(500, 501)
    assert bench.events == ["spool_degraded", "spool_recovered"]
    assert bench.spool.held(EPOCH.id) == held | RangeSet([(500, 501)])
    bench.open()
    assert bench.spool.held(EPOCH.id) == held | RangeSet([(500, 501)])
    assert bench.spool.lost(EPOCH.id) == lost


def test_settling_empties_the_ring_but_keeps_it_in_use(tmp_path: Path) -> None:
    """A ring buffer whose records are all settled still accepts the next one."""
    blocked = tmp_path / "spool"
    blocked.write_text("in the way")
    bench = Bench(blocked, SMALL)
    bench.spool.begin(EPOCH)
    bench.append(0, 10)
    bench.spool.settle(EPOCH.id, 10)
    bench.append(10, 20)
    assert bench.read_all() == list(range(10, 20))


def test_records_unknown_to_both_sides_are_missing(bench: Bench) -> None:
    """If the collector returns with an older store, records that neither side has are missing."""
    bench.append(0, 50)
    bench.spool.begin(an_epoch(2))
    bench.spool.settle(EPOCH.id, 30)
    bench.open()
    bench.spool.settle(EPOCH.id, 20)
    assert bench.spool.held(EPOCH.id) | bench.spool.missing(EPOCH.id) == RangeSet([(20, 50)])


@pytest.fixture
def small_files() -> Iterator[None]:
    """Limit files to 20,000 bytes: as on a full disk, a write is cut short and the next one fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_files")
def test_a_write_that_is_cut_short_is_undone(tmp_path: Path) -> None:
    """A partial write is removed, the record goes to memory and later to the next file, and nothing is lost."""
    bench = Bench(tmp_path, SpoolSettings(memory_bytes=10**6))
    bench.spool.begin(EPOCH)
    bench.append(0, 150)
    assert "spool_degraded" in bench.events
    assert bench.spool.held(EPOCH.id) == RangeSet([(0, 150)])
    assert bench.read_all() == list(range(150))
    bench.spool.close()
    bench.open()
    assert bench.self_metrics.records_lost == 0
    assert bench.read_all() == list(range(len(bench.read_all())))


KILLED = """
import sys
from pathlib import Path
from flyball_agent.clock import KernelClock
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.format import SpoolEntry, EntryKind, entries_start, scan
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
spool = Spool(Path(sys.argv[1]), SpoolSettings(segment_bytes=65536), clock=KernelClock(), self_metrics=SelfMetrics(),
              announce=lambda kind, text: None)
spool.begin(an_epoch(1))
for sequence in range(10**6):
    spool.append(a_tick(sequence))
    sys.stdout.write(f"{sequence}\\n")
    sys.stdout.flush()
"""


def test_kill_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    """After SIGKILL every record whose append had returned is read back."""
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    last = -1
    for line in writer.stdout:
        last = int(line)
        if last >= 500:
            break
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split("\n")
    last = max([last, *(int(line) for line in rest[:-1] if line)])
    writer.stdout.close()
    writer.wait()
    bench = Bench(tmp_path)
    held = bench.spool.held(EPOCH.id)
    assert held.prefix_from(0) in {last + 1, last + 2}
    assert len(held) == held.prefix_from(0)
