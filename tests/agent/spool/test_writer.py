"""Tests of the spool writer: records stay in order, and a hanging disk does not block the sampler."""

import threading
import time
from pathlib import Path

import pytest

from flyball_agent.record import TickRecord
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.spool.writer import SpoolWriter
from flyball_agent.testing import FakeHostClock
from flyball_proto.ranges import RangeSet

EPOCH = an_epoch(1)


class Disk:
    """A spool whose disk hangs while the gate is closed."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.events: list[str] = []
        self.self_metrics = SelfMetrics()
        self.spool = Spool(
            directory, SpoolSettings(), clock=FakeHostClock(), self_metrics=self.self_metrics, announce=self._announce
        )
        self.spool.begin(EPOCH)
        self.writer = SpoolWriter([self._append], max_bytes, self_metrics=self.self_metrics, announce=self._announce)

    def _append(self, tick: TickRecord) -> None:
        self.gate.wait(120)
        self.spool.append(tick)

    def _announce(self, kind: str, _text: str) -> None:
        self.events.append(kind)

    def wait_until_held(self, ranges: RangeSet) -> None:
        deadline = time.monotonic() + 60
        while self.spool.held(EPOCH.id) != ranges and time.monotonic() < deadline:
            time.sleep(0.005)
        assert self.spool.held(EPOCH.id) == ranges


def test_records_are_written_in_order_before_the_writer_stops(tmp_path: Path) -> None:
    """After the writer has stopped, all records are in the spool."""
    disk = Disk(tmp_path, 10**6)
    for sequence in range(300):
        disk.writer.put(a_tick(sequence))
    assert disk.writer.stop(60)
    assert disk.spool.held(EPOCH.id) == RangeSet([(0, 300)])


def test_records_wait_while_the_disk_hangs(tmp_path: Path) -> None:
    """Records wait, the hang is announced once, and everything is written when the disk works again."""
    disk = Disk(tmp_path, 10**6)
    disk.gate.clear()
    started = time.monotonic()
    for sequence in range(100):
        disk.writer.put(a_tick(sequence))
    assert time.monotonic() - started < 60
    assert disk.self_metrics.spool_hangs
    assert not disk.writer.stop(0.05)
    disk.gate.set()
    disk.wait_until_held(RangeSet([(0, 100)]))
    assert disk.events == ["spool_degraded"]
    assert disk.self_metrics.records_lost == 0


def test_records_beyond_the_memory_are_declared_lost(tmp_path: Path) -> None:
    """Records that do not fit into memory during a hang are declared lost, and the end of the hang is announced."""
    disk = Disk(tmp_path, 2000)
    disk.gate.clear()
    for sequence in range(100):
        disk.writer.put(a_tick(sequence))
    disk.gate.set()
    deadline = time.monotonic() + 60
    while len(disk.spool.held(EPOCH.id)) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)
    disk.writer.put(a_tick(100))
    assert disk.writer.stop(60)
    held, lost = disk.spool.held(EPOCH.id), disk.spool.lost(EPOCH.id)
    assert held | lost == RangeSet([(0, 101)])
    assert 80 < len(lost) == disk.self_metrics.records_lost
    assert disk.events == ["spool_degraded", "spool_recovered"]
    assert not disk.self_metrics.spool_hangs


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_of_a_sink_reaches_the_sampler() -> None:
    """After an internal error the agent must not continue without storing records."""

    def broken(_tick: TickRecord) -> None:
        raise RuntimeError("wires crossed")

    writer = SpoolWriter([broken], 10**6, self_metrics=SelfMetrics(), announce=lambda _kind, _text: None)
    writer.put(a_tick(0))
    assert writer.stop(10)
    with pytest.raises(RuntimeError, match="wires crossed"):
        writer.put(a_tick(1))
