"""A training does not notice its agent: absent, restarted, stopped with full queues, or without its collector."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket, open_run
from tests.faults.lost_time import LostTime, calm, least, train
from tests.processes import Agent, free_port, wait_for

pytestmark = pytest.mark.faults

SECONDS = 1.0
REPORT_NS = 50_000_000
"""Twenty reports a second instead of one, so that a second of test is twenty of a training."""

MAY_LOSE_SECONDS = 0.001


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent whose collector accepts connections and never answers."""
    with socket.socket() as collector:
        collector.bind(("127.0.0.1", 0))
        collector.listen()
        with Agent(tmp_path / "agent", collector.getsockname()[1]) as agent:
            yield agent.start()


def run_to(agent: Agent) -> Run:
    """Return a run that is connected to an agent and was accepted."""
    wait_for("the agent listens", agent.socket.exists)
    run = open_run(agent.socket, report_ns=REPORT_NS)
    train(run, 0.2, lambda: run.connected)
    return run


def usual(run: Run) -> LostTime:
    """Return what the client takes, which never blocks."""
    lost = calm(lambda: train(run, SECONDS))
    assert lost.blocked == 0
    return lost


def more_than(before: LostTime, run: Run) -> float:
    """Return how much more the client takes than before. A busy machine may slow down one second, but not each."""

    def more() -> float:
        return usual(run).seconds - before.seconds

    return least(more, MAY_LOSE_SECONDS)


def test_an_agent_that_is_killed_and_started_again_costs_nothing(agent: Agent) -> None:
    """The run goes on, connects again by itself, and reports the steps between as well."""
    run = run_to(agent)
    before = usual(run)
    agent.kill()
    assert more_than(before, run) < MAY_LOSE_SECONDS
    assert not run.connected
    agent.start()
    assert train(run, SECONDS, lambda: run.connected).blocked == 0
    assert run.dropped == 0
    run.finish()


def test_an_agent_that_is_stopped_costs_nothing_even_when_its_queue_is_full(agent: Agent) -> None:
    """Steps that cannot be sent are merged into the next report, which is sent when the agent goes on."""
    run = run_to(agent)
    before = usual(run)
    agent.send(signal.SIGSTOP)
    filling = LostTime()
    for _ in range(3000):  # as many reports as an hour has
        run._due = 0
        with filling.measured():
            run.step()
    assert run._reporter._unsent.steps > 100, "the queue is not full"
    assert filling.blocked == 0
    assert more_than(before, run) < MAY_LOSE_SECONDS
    agent.send(signal.SIGCONT)
    train(run, 0, lambda: run._reporter._unsent.steps < 50)
    run.finish()


def test_a_run_opens_while_its_agent_is_stopped(agent: Agent) -> None:
    """Its queue accepts the connection, and nothing waits for an answer."""
    wait_for("the agent listens", agent.socket.exists)
    agent.send(signal.SIGSTOP)
    lost, runs = LostTime(), []
    for number in range(50):
        with lost.measured():
            runs.append(open_run(agent.socket, name=f"r{number}"))
            runs[-1].step()
            runs[-1].finish()
    assert lost.blocked == 0
    assert lost.seconds / len(runs) < MAY_LOSE_SECONDS


def test_a_run_opens_while_the_queue_of_an_agent_is_full(tmp_path: Path) -> None:
    """A blocking connect would wait until the agent accepts."""
    lost = LostTime()
    with ListeningSocket(tmp_path / "agent.sock", backlog=0) as stuck:
        runs = []
        for number in range(4):
            with lost.measured():
                runs.append(open_run(stuck.path, name=f"r{number}", report_ns=0))
                runs[-1].step()
        assert [run.connected for run in runs] == [True, False, False, False]
        assert lost.blocked == 0
        for run in runs:
            run.finish()


def test_without_an_agent_a_training_only_measures(tmp_path: Path) -> None:
    """Connecting is tried again, more and more rarely."""
    run = open_run(tmp_path / "agent.sock", report_ns=REPORT_NS)
    lost = usual(run)
    assert lost.seconds < 50 * MAY_LOSE_SECONDS  # a hundred steps and twenty reports
    assert (run.summary().overall.steps_per_second or 0) > 0
    run.finish()


def test_an_agent_that_starts_later_is_found(tmp_path: Path) -> None:
    """Within some seconds, without a new run."""
    run = open_run(tmp_path / "agent" / "agent.sock", report_ns=REPORT_NS)
    train(run, 0.2)
    assert not run.connected
    with Agent(tmp_path / "agent", free_port()) as agent:
        agent.start()
        assert train(run, 0, lambda: run.connected).blocked == 0
    assert run._reporter.refusal == ""
    run.finish()


@pytest.mark.parametrize("make", ["file", "folder", "pipe", "closed", "dangling", "loop"])
def test_other_files_are_left_alone(tmp_path: Path, make: str) -> None:
    """Something else may be where the agent's socket should be."""
    path = tmp_path / "agent.sock"
    if make == "file":
        path.write_text("precious")
    elif make == "folder":
        path.mkdir()
    elif make == "pipe":
        os.mkfifo(path)
    elif make == "closed":
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(path))
    elif make == "dangling":
        path.symlink_to(tmp_path / "nothing")
    else:
        path.symlink_to(path)
    lost = LostTime()
    with lost.measured():
        run = open_run(path, report_ns=0)
        for _ in range(10):
            run.step()
        run.finish()
    assert not run.connected
    assert lost.blocked == 0
    assert make != "file" or path.read_text() == "precious"


@pytest.mark.parametrize(
    "path", ["x" * 5000, "with\0nul", "", "/proc/1/root/agent.sock"], ids=["long", "nul", "empty", "denied"]
)
def test_a_path_that_cannot_be_is_ignored(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment contains."""
    import flyball  # noqa: PLC0415  it reads the environment later

    if "\0" in path:  # no environment can contain it, but a caller of the room can
        run = open_run(Path(path))
    else:
        monkeypatch.setenv("FLYBALL_SOCKET", path or " ")
        run = flyball.run("odd")
    run.step()
    run.step()
    assert not run.connected
    run.finish()


def test_the_folder_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others could place a socket there and read reports. A folder that they can write to is not, nor a link."""
    from flyball.training.agent_socket import SYSTEM_PATH, candidates, own_folder  # noqa: PLC0415  reads the environment

    monkeypatch.delenv("FLYBALL_SOCKET", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    own = Path(own_folder())
    own.mkdir(mode=0o700)
    assert candidates() == [SYSTEM_PATH, f"{own}/agent.sock"]
    own.chmod(0o770)
    assert candidates() == [SYSTEM_PATH]
    own.chmod(0o700)
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")
    assert candidates() == [SYSTEM_PATH]
    own.unlink()
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    (tmp_path / f"flyball-{uid + 1}").mkdir(mode=0o700)  # the owner is another user than the one who asks
    assert candidates() == [SYSTEM_PATH]


def test_no_clock_of_the_day_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set back or forward changes no step."""

    def refuse(*_: object) -> float:
        raise AssertionError("the time of day was read")

    run = open_run(tmp_path / "agent.sock", report_ns=0)
    with monkeypatch.context() as changed:
        for name in ("time", "time_ns", "localtime", "gmtime"):
            changed.setattr(time, name, refuse)
        for _ in run.data(range(20)):
            run.mark("forward")
            run.step()
        run.summary()
        run.finish()
    assert run.dropped == 0
