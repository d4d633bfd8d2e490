"""Whatever the socket answers, a training goes on, loses nothing, and keeps nothing in memory."""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket, open_run
from tests.faults.lost_time import LostTime, least

pytestmark = pytest.mark.faults

MAY_LOSE_SECONDS = 0.010
"""In twenty reports, which are twenty seconds of a training. Measured here: 0.1 to 0.5 ms, with imports 3 ms."""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[ListeningSocket]:
    """Yield a listening socket that answers what a test wants."""
    with ListeningSocket(tmp_path / "agent.sock") as listening:
        yield listening


ANSWERS: dict[str, bytes] = {
    "a million pushed lines": b'{"kind":"news"}\n' * 100,
    "captures": b'{"kind":"unknown-order","id":"1","what":"stacks"}\n' * 100,
    "endless bytes": b"x" * 4000,
    "binary": bytes(range(256)) * 10,
    "not objects": b'[]\nnull\n7\n"kind"\n{}\n{"kind":7}\n{"kind":null}\n{"kind"\n' * 20,
    "deep": b'{"kind":"capture","x":' + b"[" * 3000 + b"\n",
    "positive answers": b'{"kind":"ok"}\n' * 200,
    "errors": b'{"kind":"error","error":"steps: tokens: expected float"}\n' * 50,
    "refusals": b'{"kind":"error","error":"hello: run x belongs to another user"}\n' * 50,
    "empty lines": b"\n" * 4000,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_agent_that_answers_anything_costs_nothing(agent: ListeningSocket, answer: bytes) -> None:
    """It sends as much as fits between two reports, over and over."""
    without = open_run(Path("/dev/null"), name="without", report_ns=0)
    for _ in range(20):  # the first ones import what is needed once
        _step(without)

    def more() -> float:
        """Return how much more twenty reports cost with these answers than without an agent."""
        run = open_run(agent.path, report_ns=0)
        agent.accept()
        usual, lost = LostTime(), LostTime()
        for _ in range(20):
            _flood(agent, answer)
            with usual.measured():
                _step(without)
            with lost.measured():
                _step(run)
        assert lost.blocked == 0
        assert run.last_step == 20
        assert "json" not in answer.decode("latin-1") or run.connected
        run.finish()
        return lost.seconds - usual.seconds

    assert least(more, MAY_LOSE_SECONDS) < MAY_LOSE_SECONDS


def test_a_flood_ends_the_connection_for_a_minute(agent: ListeningSocket) -> None:
    """An agent sends a message now and then. More than that is not an agent's, and is refused."""
    run = open_run(agent.path, report_ns=0)
    agent.accept()
    _flood(agent, ANSWERS["a million pushed lines"])
    _step(run)
    assert not run.connected
    for _ in range(20):
        _step(run)
    assert not run.connected


def test_answers_are_not_kept_in_memory(agent: ListeningSocket) -> None:
    """After many answers as much is in memory as after some."""
    run = open_run(agent.path, report_ns=0)
    agent.accept()

    def answers(count: int) -> None:
        for _ in range(count):
            agent._accepted[-1].send(ANSWERS["positive answers"] + ANSWERS["errors"])
            _step(run)

    answers(70)  # a minute of reports is kept for the rates
    before = _blocks()
    answers(100)
    assert _blocks() - before < 200
    assert run.connected


def test_memory_and_descriptors_do_not_grow_over_many_steps(agent: ListeningSocket) -> None:
    """A hundred thousand steps with new values, and more than a thousand reports."""
    run = open_run(agent.path, report_ns=500_000)
    agent.accept()

    def steps(count: int) -> None:
        for number in range(count):
            run.mark("forward")
            run.mark(f"part {number % 50}")  # more names than a report may have
            run.step(tokens=number, loss=number / 7)
            if number % 100 == 0:
                agent.lines()

    steps(20_000)
    blocks, descriptors = _blocks(), _descriptors()
    steps(100_000)
    assert _blocks() - blocks < 500
    assert _descriptors() == descriptors
    run.finish()


def test_memory_and_descriptors_do_not_grow_over_many_connections(agent: ListeningSocket) -> None:
    """A thousand times the agent hangs up, and the run connects again."""
    run = open_run(agent.path, report_ns=0)

    def connections(count: int) -> None:
        for _ in range(count):
            agent.accept()
            agent.hang_up()
            _step(run)
            _step(run)
            run._reporter._link._retry_at = 0  # a second later
            _step(run)
            assert run.connected

    connections(50)
    blocks, descriptors = _blocks(), _descriptors()
    connections(1000)
    assert _blocks() - blocks < 200
    assert _descriptors() == descriptors
    run.finish()
    assert _descriptors() < descriptors


def test_opened_and_finished_runs_leave_nothing(agent: ListeningSocket) -> None:
    """A notebook opens a run for each experiment, and finishes some."""

    def runs(count: int, end: Callable[[Run], None]) -> None:
        for number in range(count):
            run = open_run(agent.path, name=f"experiment {number}", report_ns=0)
            agent.accept()
            _step(run)
            end(run)
            agent.hang_up()

    runs(20, Run.finish)
    blocks, descriptors = _blocks(), _descriptors()
    runs(300, Run.finish)
    assert _descriptors() == descriptors
    assert _blocks() - blocks < 500


def _step(run: Run) -> None:
    run.mark("forward")
    run.step(tokens=1, loss=0.5)


def _flood(agent: ListeningSocket, answer: bytes) -> None:
    """Send until the queue is full or the run has hung up."""
    connection = agent._accepted[-1]
    connection.setblocking(False)
    try:
        for _ in range(100):
            connection.send(answer)
    except OSError:
        pass


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
