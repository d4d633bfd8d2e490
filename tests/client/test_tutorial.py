"""Test the scripts of the tutorial against the agent's own messages."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball_agent.runs.messages import Goodbye, Hello, StepsMessage, decode

TUTORIAL = Path(__file__).parents[2] / "docs/tutorial"
SECONDS = 60.0


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A socket that the script finds as that of an agent."""
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "agent.sock"))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # the child inherits it if a shell ignores it
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.environ["FLYBALL_SOCKET"])
        listener.listen()
        listener.settimeout(SECONDS)
        yield listener
    signal.signal(signal.SIGINT, handler)


def _start(script: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, TUTORIAL / script], stdout=subprocess.PIPE, text=True)


def test_the_training_on_slow_storage_reports_steps_that_wait(agent: socket.socket) -> None:
    """The first line opens the run, then come steps with the time they waited; Ctrl-C ends it without an error."""
    with _start("train.py") as training, agent.accept()[0] as connection, connection.makefile("rb") as lines:
        connection.settimeout(SECONDS)
        hello = decode(lines.readline())
        reports = [decode(lines.readline()) for _ in range(2)]
        training.send_signal(signal.SIGINT)
        output, _ = training.communicate(timeout=SECONDS)
        last = [decode(line) for line in lines]
    assert training.returncode == 0
    assert "waiting for data" in output
    assert isinstance(hello, Hello)
    assert (hello.run, hello.rank, hello.world_size) == ("first-run", 0, 1)
    for report in reports:
        assert isinstance(report, StepsMessage)
        assert report.data_wait_seconds is not None
        assert 0 < report.data_wait_seconds < report.step_seconds
    assert isinstance(last[-1], Goodbye)


def test_the_own_training_reports_its_length_and_its_steps(agent: socket.socket) -> None:
    """400 steps of 50 ms would take long, so the test stops it after its first report, which has the total steps."""
    with _start("own.py") as training, agent.accept()[0] as connection, connection.makefile("rb") as lines:
        connection.settimeout(SECONDS)
        hello, steps = decode(lines.readline()), decode(lines.readline())
        training.kill()
    assert isinstance(hello, Hello)
    assert (hello.run, hello.total_steps) == ("my-run", 400)
    assert isinstance(steps, StepsMessage)
    assert (steps.step, steps.samples) == (1, 1)
