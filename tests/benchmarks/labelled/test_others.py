"""CPU of the bench and its children is its own; everything else belongs to other work."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks.labelled.others import CpuUse, cpu_use, others_ratio


def write_process(proc: Path, pid: int, parent: int, ticks: tuple[int, int, int, int]) -> None:
    """A line as the kernel writes it; names may contain anything."""
    (proc / str(pid)).mkdir()
    user, system, child_user, child_system = ticks
    line = f"{pid} (a) b ( ) S {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} {child_user} {child_system} 20 0 1 0 1\n"
    (proc / str(pid) / "stat").write_text(line)


def test_a_family_is_a_process_with_all_its_descendants(tmp_path: Path) -> None:
    """Also of children that have ended; neither parents nor neighbours."""
    (tmp_path / "stat").write_text("cpu 1000 0 500 9 9 9 9 0\ncpu0 1 1 1\n")
    for pid, parent, ticks in ((1, 0, 500), (10, 1, 100), (11, 10, 20), (12, 11, 3), (13, 1, 700)):
        write_process(tmp_path, pid, parent, (ticks, ticks, ticks, 0))
    per_second = os.sysconf("SC_CLK_TCK")
    use = cpu_use(tmp_path, 10)
    assert (use.machine, use.own) == (1500 / per_second, 3 * 123 / per_second)


def test_the_share_is_of_all_cores() -> None:
    """The result is never negative, although the two values come from different instants."""
    assert others_ratio(CpuUse(0, 100, 40), CpuUse(10, 115, 50), 2) == pytest.approx(0.25)
    assert others_ratio(CpuUse(0, 100, 40), CpuUse(10, 110, 51), 2) == 0.0


def test_a_child_of_ours_is_ours() -> None:
    """It spins for half a second: our own use grows by about as much."""
    before = cpu_use()
    code = "import time\nwhile time.process_time() < 0.5: pass"
    with subprocess.Popen([sys.executable, "-S", "-c", code]) as child:
        child.wait()
    time.sleep(0.02)
    assert cpu_use().own - before.own >= 0.45
