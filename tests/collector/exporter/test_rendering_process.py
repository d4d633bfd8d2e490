"""The rendering process: the same pages as a thread's, and a clear error when it is lost."""

import os
import signal
from collections.abc import Iterator

import pytest

from flyball_collector.exporter.page_renderer import PageRenderer
from flyball_collector.exporter.rendering_process import RenderingProcess
from flyball_collector.worker_process import WorkerLostError
from tests.collector.exporter.busy_fleet import apply, busy_fleet, page_request
from tests.processes import wait_for


@pytest.fixture
def process() -> Iterator[RenderingProcess]:
    process = RenderingProcess(15, limit_seconds=20)
    yield process
    process.worker.close()


def test_pages_equal_those_of_a_thread(process: RenderingProcess) -> None:
    """One process renders all pages, each equal to one rendered here."""
    fleet, here, pids = busy_fleet(), PageRenderer(15), set()
    for second in range(3):
        order = page_request(fleet, second)
        whole = here.render(order)
        assert process.render(page_request(fleet, second)) == whole
        pids.add(process.worker.pid)
        apply(fleet, "b", second + 1, fleet.ensure("b").layout or pytest.fail("b has a layout"))
    assert len(pids) == 1


def test_a_lost_process_is_reported_and_started_again(process: RenderingProcess) -> None:
    """After a kill between two pages the next one fails, and the one after it is complete."""
    fleet = busy_fleet()
    first = process.render(page_request(fleet))
    assert process.worker.pid is not None
    os.kill(process.worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerLostError, match="status -9"):
        process.render(page_request(fleet))
    assert process.render(page_request(fleet)) == first


def test_a_hung_process_is_killed(process: RenderingProcess) -> None:
    """A stopped process never answers: it is killed after its time limit."""
    process.render(page_request(busy_fleet()))
    assert process.worker.pid is not None
    os.kill(process.worker.pid, signal.SIGSTOP)
    process.worker.limit_seconds = 0.2
    with pytest.raises(WorkerLostError, match="status -9"):
        process.render(page_request(busy_fleet()))


def test_it_ends_with_its_owner(process: RenderingProcess) -> None:
    """It ends with status 0 when its input ends; signals of a terminal or systemd to the group are ignored."""
    process.render(page_request(busy_fleet()))
    child = process.worker._process
    assert child is not None
    assert child.stdin is not None
    for each in (signal.SIGINT, signal.SIGTERM):
        os.kill(child.pid, each)
        process.render(page_request(busy_fleet()))
    child.stdin.close()
    wait_for("it has ended", lambda: child.poll() is not None)
    assert child.returncode == 0


def test_a_missing_program_is_reported() -> None:
    """The error has the reason."""
    process = RenderingProcess(15)
    process.worker.command[0] = "/nowhere/python"
    with pytest.raises(WorkerLostError, match=r"cannot start: .*nowhere"):
        process.render(page_request(busy_fleet()))
