"""Records reach the spool in order, and a disk that hangs holds up nobody but itself."""

import threading
import time
from pathlib import Path

import pytest

from flyball_agent.record import Tick
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.spool.writer import SpoolWriter
from flyball_agent.testing import FakeClock
from flyball_proto.ranges import RangeSet

EPOCH = an_epoch(1)


class Disk:
    """A spool whose disk does not answer while the gate is closed."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.events: list[str] = []
        self.self_metrics = SelfMetrics()
        self.spool = Spool(
            directory, SpoolSettings(), clock=FakeClock(), self_metrics=self.self_metrics, announce=self._announce
        )
        self.spool.begin(EPOCH)
        self.writer = SpoolWriter([self._append], max_bytes, self_metrics=self.self_metrics, announce=self._announce)

    def _append(self, tick: Tick) -> None:
        self.gate.wait(30)
        self.spool.append(tick)

    def _announce(self, kind: str, _text: str) -> None:
        self.events.append(kind)

    def wait_until_held(self, ranges: RangeSet) -> None:
        deadline = time.monotonic() + 10
        while self.spool.held(EPOCH.id) != ranges and time.monotonic() < deadline:
            time.sleep(0.005)
        assert self.spool.held(EPOCH.id) == ranges


def test_records_pass_in_order_and_stopping_waits_for_them(tmp_path: Path) -> None:
    """Whoever stops the writer finds everything in the spool."""
    disk = Disk(tmp_path, 10**6)
    for sequence in range(300):
        disk.writer.put(a_tick(sequence))
    assert disk.writer.stop(10)
    assert disk.spool.held(EPOCH.id) == RangeSet([(0, 300)])


def test_a_disk_that_hangs_holds_nobody_up_and_loses_nothing(tmp_path: Path) -> None:
    """Records wait, the hang is announced once, and all is written when the disk answers."""
    disk = Disk(tmp_path, 10**6)
    disk.gate.clear()
    started = time.monotonic()
    for sequence in range(100):
        disk.writer.put(a_tick(sequence))
    assert time.monotonic() - started < 5
    assert disk.self_metrics.spool_hangs
    assert not disk.writer.stop(0.05)
    disk.gate.set()
    disk.wait_until_held(RangeSet([(0, 100)]))
    assert disk.events == ["spool_degraded"]
    assert disk.self_metrics.records_lost == 0


def test_what_does_not_fit_is_declared_lost(tmp_path: Path) -> None:
    """A hang that outlasts the memory costs records, and each of them is declared; then it is said to be over."""
    disk = Disk(tmp_path, 2000)
    disk.gate.clear()
    for sequence in range(100):
        disk.writer.put(a_tick(sequence))
    disk.gate.set()
    deadline = time.monotonic() + 10
    while len(disk.spool.held(EPOCH.id)) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)
    disk.writer.put(a_tick(100))
    assert disk.writer.stop(10)
    held, lost = disk.spool.held(EPOCH.id), disk.spool.lost(EPOCH.id)
    assert held | lost == RangeSet([(0, 101)])
    assert 80 < len(lost) == disk.self_metrics.records_lost
    assert disk.events == ["spool_degraded", "spool_recovered"]
    assert not disk.self_metrics.spool_hangs


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_a_sink_reaches_the_sampler() -> None:
    """A fault of our own must not leave an agent that samples into nothing."""

    def broken(_tick: Tick) -> None:
        raise RuntimeError("wires crossed")

    writer = SpoolWriter([broken], 10**6, self_metrics=SelfMetrics(), announce=lambda _kind, _text: None)
    writer.put(a_tick(0))
    assert writer.stop(10)
    with pytest.raises(RuntimeError, match="wires crossed"):
        writer.put(a_tick(1))
