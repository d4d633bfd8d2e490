"""Child processes of `flyball up`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from flyball.command.child_process import Backoff, ChildProcess


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sleeper(log: Path, program: str = "import time; print('up', flush=True); time.sleep(60)") -> ChildProcess:
    child = ChildProcess("agent", [sys.executable, "-c", program], log)
    child.start()
    return child


@given(st.lists(st.floats(0, 59), min_size=1, max_size=20))
def test_the_wait_doubles_up_to_30_seconds(runs: list[float]) -> None:
    """A daemon that cannot start is not restarted in a tight loop."""
    backoff = Backoff()
    waits = [backoff.after_run_of(seconds) for seconds in runs]
    assert waits[0] == 1
    assert all(later in {2 * before, 30.0} for before, later in pairwise(waits))


def test_a_stable_run_resets_the_wait() -> None:
    """After a crash once a day the daemon is restarted at once."""
    backoff = Backoff()
    for _ in range(5):
        backoff.after_run_of(0)
    assert backoff.after_run_of(3600) == 1


def test_a_child_that_ends_is_reported_and_restarted(tmp_path: Path) -> None:
    """It is reported once, and restarted after the wait."""
    child = sleeper(tmp_path / "log")
    try:
        until(lambda: "up" in child.log_tail())
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        began = time.monotonic()
        news: list[str | None] = []

        def is_reported() -> bool:
            news.append(child.check(began))
            return news[-1] is not None

        until(is_reported)
        assert str(news[-1]).startswith("agent ended with signal SIGKILL; restart in 1 s")
        assert child.check(began) is None
        assert child.check(began + 2) == "agent has been restarted"
        assert child.pid != first
    finally:
        child.stop(5)
    assert child.pid is None


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    """After the time limit."""
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    child = sleeper(tmp_path / "log", stubborn)
    until(lambda: "up" in child.log_tail())
    pid = child.pid
    child.stop(0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_children_do_not_outlive_their_parent(tmp_path: Path) -> None:
    """Even if the parent is killed, its daemons end in order."""
    program = (
        "import os, sys, time; from pathlib import Path; from flyball.command.child_process import ChildProcess\n"
        f"log = Path({str(tmp_path / 'log')!r})\n"
        "child = ChildProcess('c', [sys.executable, '-c', 'import time; time.sleep(60)'], log)\n"
        "child.start(); print(child.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_large_log_is_rotated(tmp_path: Path) -> None:
    """The logs of `flyball up` cannot fill the disk."""
    log = tmp_path / "agent.log"
    with log.open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    child = sleeper(log)
    child.stop(5)
    assert log.stat().st_size < 1000
    assert (tmp_path / "agent.log.1").stat().st_size == 17 * 1024 * 1024
