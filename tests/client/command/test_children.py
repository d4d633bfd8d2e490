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

from flyball.command.children import Backoff, Child


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sleeper(log: Path, program: str = "import time; print('up', flush=True); time.sleep(60)") -> Child:
    child = Child("agent", [sys.executable, "-c", program], log)
    child.start()
    return child


@given(st.lists(st.floats(0, 59), min_size=1, max_size=20))
def test_the_wait_doubles_up_to_half_a_minute(lives: list[float]) -> None:
    """A daemon that cannot start is not started in a tight loop."""
    backoff = Backoff()
    waits = [backoff.after_life_of(life) for life in lives]
    assert waits[0] == 1
    assert all(later in {2 * before, 30.0} for before, later in pairwise(waits))


def test_a_stable_life_begins_anew() -> None:
    """A crash once a day is answered at once."""
    backoff = Backoff()
    for _ in range(5):
        backoff.after_life_of(0)
    assert backoff.after_life_of(3600) == 1


def test_a_child_that_dies_is_told_and_started_again(tmp_path: Path) -> None:
    """What happened is said once, and after its wait it lives again."""
    child = sleeper(tmp_path / "log")
    try:
        until(lambda: "up" in child.last_words())
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        news: list[str | None] = []

        def told() -> bool:
            news.append(child.tend(time.monotonic()))
            return news[-1] is not None

        until(told)
        assert str(news[-1]).startswith("agent ended with signal SIGKILL; starting again in 1 s")
        assert child.tend(time.monotonic()) is None
        assert child.tend(time.monotonic() + 2) == "agent started again"
        assert child.pid != first
    finally:
        child.stop(5)
    assert child.pid is None


def test_a_child_that_does_not_end_is_ended(tmp_path: Path) -> None:
    """Who ignores TERM is killed after the time it was given."""
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    child = sleeper(tmp_path / "log", stubborn)
    until(lambda: "up" in child.last_words())
    pid = child.pid
    child.stop(0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_children_do_not_outlive_their_parent(tmp_path: Path) -> None:
    """However the parent goes, its daemons end in order."""
    program = (
        "import os, sys, time; from pathlib import Path; from flyball.command.children import Child\n"
        f"child = Child('c', [sys.executable, '-c', 'import time; time.sleep(60)'], Path({str(tmp_path / 'log')!r}))\n"
        "child.start(); print(child.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_long_log_is_put_aside(tmp_path: Path) -> None:
    """Logs of `flyball up` do not fill the disk."""
    log = tmp_path / "agent.log"
    with log.open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    child = sleeper(log)
    child.stop(5)
    assert log.stat().st_size < 1000
    assert (tmp_path / "agent.log.1").stat().st_size == 17 * 1024 * 1024
