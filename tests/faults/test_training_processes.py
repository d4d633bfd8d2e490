"""Training processes die, flood, send rubbish and fork: the agent continues and reports who is there."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from flyball_agent.runs.socket import MAX_CONNECTIONS, MAX_LINE_BYTES, MAX_UNREAD_BYTES
from tests.faults.conftest import AgentMaker
from tests.judge import last_sequence
from tests.processes import Agent, Collector, wait_for

pytestmark = pytest.mark.faults

# Reports a step ten times a second until it is killed; with FORK a child of it does, on the same connection.
TRAINING = """
import json, os, socket, sys, time
path, run, fork = sys.argv[1:]
end = socket.socket(socket.AF_UNIX)
end.connect(path)
lines = end.makefile("rw")
def send(message):
    lines.write(json.dumps(message) + "\\n"); lines.flush(); return json.loads(lines.readline())
assert send({"kind": "hello", "run": run, "rank": 0})["kind"] == "ok"
if fork == "fork" and os.fork():
    time.sleep(600)
print(os.getpid(), flush=True)
step = 0
while True:
    step += 1
    send({"kind": "steps", "step": step, "steps": 1, "step_seconds": 0.1})
    time.sleep(0.1)
"""

LEAST_CONNECTIONS = 60
RUBBISH = (
    b"\xff\xfe\x00rubbish\n",
    b"[" * 60_000 + b"\n",
    b'{"kind":"steps","step":1e999}\n',
    b'{"kind":"hello","run":"' + b"x" * 70_000 + b'"}\n',
    b'{"kind":"hello","run":"r","rank":-1}\n{"kind":"steps","steps":-5}\n',
    b'{"kind":"hello","run":"r"}\n' * 5_000,
)


@pytest.fixture
def agent(make_agent: AgentMaker, collector: Collector) -> Agent:
    """An agent that is heard."""
    agent = make_agent().start()
    wait_for("the host is heard", lambda: last_sequence(collector, "node-1") > 2)
    return agent


@pytest.fixture
def train(agent: Agent, processes: ExitStack) -> Iterator[Any]:
    """Starts a training process; returns it and the process that reports."""
    started: list[int] = []

    def start(run: str, fork: str = "") -> tuple["subprocess.Popen[str]", int]:
        command = [sys.executable, "-c", TRAINING, str(agent.socket), run, fork]
        training = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.callback(training.wait)
        processes.callback(training.kill)
        assert training.stdout is not None
        with training.stdout as output:
            reporter = int(output.readline())
        started.append(reporter)
        return training, reporter

    yield start
    for pid in started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _step(collector: Collector, run: str) -> int:
    return max(
        (each["step"] or 0 for each in collector.get("/api/v1/hosts/node-1")["runs"] if each["run"] == run), default=0
    )


def _members(collector: Collector, run: str) -> list[int]:
    return [each["pid"] for each in collector.get("/api/v1/hosts/node-1")["processes"] if each["run"] == run]


def test_a_training_process_that_is_killed_is_gone_from_its_host(collector: Collector, train: Any) -> None:
    """Its steps are shown; when it dies, the run has no ranks any more."""
    training, pid = train("mortal")
    wait_for("its steps are shown", lambda: _step(collector, "mortal") > 5)
    wait_for("the process is shown", lambda: _members(collector, "mortal") == [pid])
    training.kill()
    wait_for("it is gone", lambda: not _members(collector, "mortal"))
    last = _step(collector, "mortal")
    time.sleep(1)
    assert _step(collector, "mortal") == last


def test_a_training_process_that_forks_is_one_voice(collector: Collector, train: Any, agent: Agent) -> None:
    """A child that inherits its parent's connection reports for the run until it ends too."""
    parent, child = train("forked", "fork")
    wait_for("the child's steps are shown", lambda: _step(collector, "forked") > 5)
    parent.kill()
    parent.wait()
    before = _step(collector, "forked")
    wait_for("the orphan goes on", lambda: _step(collector, "forked") > before + 5)
    os.kill(child, signal.SIGKILL)
    wait_for("the run has ended", lambda: not _members(collector, "forked"))
    assert agent.alive()


def test_floods_and_rubbish_disturb_neither_the_host_nor_another_run(
    collector: Collector, train: Any, agent: Agent
) -> None:
    """Rubbish on many connections for five seconds: readings and an honest run go on, and memory stays."""
    train("honest")
    wait_for("its steps are shown", lambda: _step(collector, "honest") > 2)
    tick, step, memory, started = (
        last_sequence(collector, "node-1"),
        _step(collector, "honest"),
        agent.resident_bytes(),
        time.monotonic(),
    )
    idle: list[socket.socket] = []
    turn = 0
    while time.monotonic() - started < 5 or turn < LEAST_CONNECTIONS or last_sequence(collector, "node-1") < tick + 20:
        idle.append(_pester(agent, RUBBISH[turn % len(RUBBISH)]))
        if len(idle) > 150:
            idle.pop(0).close()
        turn += 1
        assert time.monotonic() - started < 120, "the host does not go on"
    wait_for("the honest run went on", lambda: _step(collector, "honest") > step + 10)
    assert agent.resident_bytes() - memory < MAX_CONNECTIONS * (MAX_LINE_BYTES + MAX_UNREAD_BYTES)
    wait_for("they are counted", lambda: (collector.metric("flyball_agent_client_errors_total") or 0) > 20)
    for end in idle:
        end.close()


def _pester(agent: Agent, rubbish: bytes) -> socket.socket:
    """Send it and read nothing; whether the agent hangs up is its own affair."""
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(0.2)
    with suppress(OSError):
        end.connect(str(agent.socket))
        end.sendall(rubbish)
    return end
