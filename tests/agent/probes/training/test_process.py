"""Tests of a watched process, with real child processes."""

import os
from pathlib import Path

import pytest

from flyball_agent.probes.testing import write_tree
from flyball_agent.probes.training.process import HIDDEN_READINGS, WatchedProcess, children_of
from tests.agent.probes.training.children import (
    SPINS,
    WAITS_FOR_PIPE,
    WAITS_FOR_SOCKET,
    WAITS_IN_POLL,
    child,
    wait_until,
)

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
needs_wchan = pytest.mark.skipif(not Path("/proc/self/wchan").exists(), reason="this kernel has no wchan")


@needs_wchan
@pytest.mark.parametrize(
    ("script", "kind"), [(WAITS_FOR_PIPE, "process"), (WAITS_FOR_SOCKET, "socket"), (WAITS_IN_POLL, "poll")]
)
def test_knows_what_a_thread_waits_for(script: str, kind: str) -> None:
    """A thread that sleeps in a read of a pipe, in a read of a socket or in poll is recognised on this kernel."""
    with child(script) as process:
        watched = WatchedProcess(PROC, process.pid)
        wait_until(lambda: watched.sample() == kind)


def test_a_process_that_computes_waits_for_nothing() -> None:
    """The time of a loop is running or waiting for a CPU, and none of it is a wait for something else."""
    with child(SPINS) as process:
        watched = WatchedProcess(PROC, process.pid)
        assert watched.read(0.0) is None
        ran = 0.0

        def has_run() -> bool:
            nonlocal ran
            use = watched.read(0.0)
            ran += use.run if use is not None else 0.0
            return ran > 0.05

        wait_until(has_run)
        assert watched.sample() == ""


def write_process(root: Path, *, cpu: float, run: float, delay: float, faults: int = 0, state: str = "S") -> None:
    """Write the files of process 7."""
    fields = f"1 1 1 0 -1 0 0 0 {faults} 0 {round(cpu * TICKS)} 0 0 0 20 0 1 0 500 0"
    stat = f"7 (python) {state} {fields}\n"
    schedstat = f"{run * 1e9:.0f} {delay * 1e9:.0f} 10\n"
    write_tree(root, {"7/stat": stat, "7/task/7/stat": stat, "7/schedstat": schedstat, "7/wchan": "io_schedule"})


def test_sleeping_is_split_by_the_samples(tmp_path: Path) -> None:
    """The time that a thread neither ran nor was ready is divided by what it was seen to wait for."""
    write_process(tmp_path, cpu=1.0, run=1.0, delay=0.5)
    watched = WatchedProcess(tmp_path, 7)
    assert watched.read(1.0) is None
    for function in ("io_schedule", "io_schedule", "io_schedule", "do_sys_poll", "0"):
        write_tree(tmp_path, {"7/wchan": function})
        watched.sample()
    write_process(tmp_path, cpu=1.3, run=1.25, delay=0.75, faults=3)
    use = watched.read(1.0)
    assert use is not None
    assert (round(use.run, 6), round(use.delay, 6), round(use.cpu, 6), use.major_faults) == (0.25, 0.25, 0.3, 3)
    assert {kind: round(seconds, 6) for kind, seconds in use.waits.items()} == {"disk": 0.375, "poll": 0.125}


def test_seconds_without_a_sample_are_split_as_before(tmp_path: Path) -> None:
    """A thread that was seen running each time waits for the same as before; without any sample the kind is other."""
    write_process(tmp_path, cpu=1.0, run=1.0, delay=0.0)
    watched = WatchedProcess(tmp_path, 7)
    watched.read(1.0)
    unseen = watched.read(1.0)
    watched.sample()
    seen, later = watched.read(1.0), watched.read(1.0)
    assert [use.waits for use in (unseen, seen, later) if use] == [{"other": 1.0}, {"disk": 1.0}, {"disk": 1.0}]


def test_another_process_with_the_same_id_begins_again(tmp_path: Path) -> None:
    """A process that took over an id does not inherit the counters of the one before."""
    write_process(tmp_path, cpu=50.0, run=50.0, delay=0.0)
    watched = WatchedProcess(tmp_path, 7)
    watched.read(1.0)
    text = (tmp_path / "7/stat").read_text()
    (tmp_path / "7/stat").write_text(text.replace(" 500 0", " 900 0"))
    assert watched.read(1.0) is None
    assert watched.read(1.0) is not None


def test_an_ended_process_uses_nothing() -> None:
    """A process that has ended has no use, no children and no descriptors, and raises no error."""
    with child(SPINS) as process:
        watched = WatchedProcess(PROC, process.pid)
        watched.read(1.0)
        watched.read(1.0)
    assert watched.read(1.0) is None
    assert (watched.sample(), children_of(PROC, process.pid), watched.links(10)) == ("", [], [])


def test_if_functions_are_hidden_the_state_distinguishes_disks(tmp_path: Path) -> None:
    """Without permission the kernel shows no function: an uninterruptible sleep is a disk, another one is other."""
    write_process(tmp_path, cpu=1.0, run=1.0, delay=0.0, state="D")
    (tmp_path / "7/wchan").write_text("0")
    watched = WatchedProcess(tmp_path, 7)
    assert watched.sample() == ""
    for _ in range(HIDDEN_READINGS):
        watched.read(1.0)
    assert watched.is_denied
    first = watched.sample()
    write_process(tmp_path, cpu=1.0, run=1.0, delay=0.0, state="S")
    (tmp_path / "7/wchan").write_text("0")
    assert (first, watched.sample()) == ("disk", "other")


def test_a_thread_that_was_seen_to_wait_is_not_hidden(tmp_path: Path) -> None:
    """A thread that runs whenever it is looked at has no function either; one that had a function is readable."""
    write_process(tmp_path, cpu=1.0, run=1.0, delay=0.0)
    watched = WatchedProcess(tmp_path, 7)
    assert watched.sample() == "disk"
    (tmp_path / "7/wchan").write_text("0")
    for _ in range(2 * HIDDEN_READINGS):
        watched.read(1.0)
    assert not watched.is_denied
