"""The process that renders: pages as a thread would make them, and a clear word when it is lost."""

import os
import signal
from collections.abc import Iterator

import pytest

from flyball_collector.exporter.pages import Pages
from flyball_collector.exporter.process import RenderingProcess
from flyball_collector.worker_process import GoneError
from tests.collector.exporter.busy_fleet import busy_fleet, order_of, say
from tests.processes import wait_for


@pytest.fixture
def process() -> Iterator[RenderingProcess]:
    process = RenderingProcess(15, limit_seconds=20)
    yield process
    process.apart.close()


def test_pages_are_those_of_a_thread(process: RenderingProcess) -> None:
    """One process renders all pages, each the same as if it had been made here."""
    fleet, here, pids = busy_fleet(), Pages(15), set()
    for second in range(3):
        order = order_of(fleet, second)
        whole = here.render(order)
        assert process.render(order_of(fleet, second)) == whole
        pids.add(process.apart.pid)
        say(fleet, "b", second + 1, fleet.ensure("b").layout or pytest.fail("b has a layout"))
    assert len(pids) == 1


def test_a_lost_process_says_so_and_is_started_again(process: RenderingProcess) -> None:
    """Killed between two pages: the next one fails, the one after it is whole."""
    fleet = busy_fleet()
    first = process.render(order_of(fleet))
    assert process.apart.pid is not None
    os.kill(process.apart.pid, signal.SIGKILL)
    with pytest.raises(GoneError, match="status -9"):
        process.render(order_of(fleet))
    assert process.render(order_of(fleet)) == first


def test_one_that_hangs_is_ended(process: RenderingProcess) -> None:
    """Stopped, it never answers: it is killed when its time is over."""
    process.render(order_of(busy_fleet()))
    assert process.apart.pid is not None
    os.kill(process.apart.pid, signal.SIGSTOP)
    process.apart.limit_seconds = 0.2
    with pytest.raises(GoneError, match="status -9"):
        process.render(order_of(busy_fleet()))


def test_it_ends_with_whom_it_works_for(process: RenderingProcess) -> None:
    """When its input ends it ends, by itself and content; what a terminal or systemd sends to all is not for it."""
    process.render(order_of(busy_fleet()))
    child = process.apart._process
    assert child is not None
    assert child.stdin is not None
    for each in (signal.SIGINT, signal.SIGTERM):
        os.kill(child.pid, each)
        process.render(order_of(busy_fleet()))
    child.stdin.close()
    wait_for("it has ended", lambda: child.poll() is not None)
    assert child.returncode == 0


def test_a_program_that_is_not_there_is_told() -> None:
    """Where no process can be started, the reason is said."""
    process = RenderingProcess(15)
    process.apart.command[0] = "/nowhere/python"
    with pytest.raises(GoneError, match=r"cannot be started: .*nowhere"):
        process.render(order_of(busy_fleet()))
