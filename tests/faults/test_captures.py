"""A training, its agent or the collector is killed during a capture: each order ends, and the next one works."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import AgentMaker
from tests.processes import Agent, Collector, wait_for

pytestmark = pytest.mark.faults

# Reports steps, and writes its stacks on a signal.
TRAINING = """
import sys, time, flyball
from flyball.captures.stacks_signal import enable
enable()
with flyball.run("captured") as run:
    print("ready", flush=True)
    while True:
        time.sleep(0.02)
        run.step()
"""


@pytest.fixture
def agent(make_agent: AgentMaker) -> Agent:
    """An agent that listens."""
    agent = make_agent().start()
    wait_for("the socket is there", agent.socket.exists)
    return agent


@pytest.fixture
def train(agent: Agent, processes: ExitStack) -> Callable[[], "subprocess.Popen[str]"]:
    """Starts a training that reports."""

    def start() -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-c", TRAINING],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "FLYBALL_SOCKET": str(agent.socket)},
        )
        processes.callback(child.wait)
        processes.callback(child.kill)
        assert child.stdout is not None
        processes.callback(child.stdout.close)
        assert child.stdout.readline() == "ready\n"
        return child

    return start


class Refused(Exception):
    """The collector does not order a capture."""


def order(collector: Collector, what: str, **fields: object) -> dict[str, Any]:
    body = json.dumps({"run": "captured", "what": what, **fields}).encode()
    headers = {"Content-Type": "application/json", "X-Flyball-Operator": "1"}
    request = urllib.request.Request(f"{collector.url}/api/v1/captures", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)["captures"][0]
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(json.load(error)["error"]["what"]) from None
    return found


def ended(collector: Collector, capture: dict[str, Any]) -> dict[str, Any]:
    def over() -> dict[str, Any] | None:
        found: dict[str, Any] = collector.get(f"/api/v1/captures/{capture['id']}")
        return found if found["state"] in {"done", "failed"} else None

    return wait_for("the capture is over", over)


def known(collector: Collector, child: "subprocess.Popen[str]") -> None:
    def is_known() -> bool:
        processes = collector.get("/api/v1/hosts/node-1")["processes"]
        is_run = "captured" in [each["run"] for each in collector.get("/api/v1/runs")["runs"]]
        return is_run and [each["pid"] for each in processes if each["run"] == "captured"] == [child.pid]

    wait_for("the training is known", is_known)


def test_each_end_of_a_capture_may_be_killed(
    collector: Collector, agent: Agent, train: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """The training, the agent, and the collector: the order has a reason, and the one after the restart is done."""
    child = train()
    known(collector, child)

    # The training stops, so that it never answers, and dies.
    child.send_signal(signal.SIGSTOP)
    capture = order(collector, "memory")
    wait_for("it is accepted", lambda: collector.get(f"/api/v1/captures/{capture['id']}")["state"] == "accepted")
    child.kill()
    child.wait()
    assert ended(collector, capture)["detail"] == f"process {child.pid} has ended or left its run"

    # The agent dies and comes back; the training connects again.
    child = train()
    known(collector, child)
    assert ended(collector, order(collector, "stacks"))["source"] == "signal"
    agent.kill()
    lost = wait_for("the host is lost", lambda: _refused(collector))
    assert "not connected" in lost or "no process" in lost or "did not accept" in lost
    agent.start()
    wait_for("it is captured again", lambda: _is_done(collector, "stacks"), pause_seconds=0.5)
    wait_for("the client is back", lambda: _is_done(collector, "memory"), pause_seconds=0.5)

    # The collector dies during an order, and comes back with all captures that were done.
    done = {each["id"] for each in collector.get("/api/v1/captures")["captures"] if each["state"] == "done"}
    child.send_signal(signal.SIGSTOP)
    pending = wait_for("it is ordered", lambda: _order(collector, "memory"))  # its processes are reported again
    wait_for("it is accepted", lambda: collector.get(f"/api/v1/captures/{pending['id']}")["state"] == "accepted")
    time.sleep(0.2)
    collector.kill()
    collector.start_ready()
    found = wait_for("captures are loaded", lambda: _by_id(collector))
    assert found[pending["id"]]["detail"] == "the collector was restarted meanwhile"
    assert done <= {name for name, each in found.items() if each["state"] == "done"}
    child.send_signal(signal.SIGCONT)
    known(collector, child)
    wait_for("it is captured again", lambda: _is_done(collector, "memory"), pause_seconds=0.5)
    assert child.poll() is None
    wait_for("the agent keeps nothing that nobody needs", lambda: not list((agent.state / "captures").iterdir()))


def _refused(collector: Collector) -> str:
    try:
        found = order(collector, "stacks")
    except Refused as refused:
        return str(refused)
    return "" if found["state"] != "failed" else str(found["detail"])


def _order(collector: Collector, what: str) -> dict[str, Any] | None:
    try:
        return order(collector, what)
    except Refused:
        return None


def _is_done(collector: Collector, what: str) -> bool:
    found = _order(collector, what)
    return found is not None and bool(ended(collector, found)["state"] == "done")


def _by_id(collector: Collector) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in collector.get("/api/v1/captures")["captures"]}


def test_a_tmp_of_a_training_is_left_clean(
    collector: Collector, train: Callable[[], "subprocess.Popen[str]"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures leave neither files nor descriptors."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    child = train()
    known(collector, child)
    assert ended(collector, order(collector, "memory"))["state"] == "done"
    files = wait_for("the first capture is over for the training, too", lambda: _steady_descriptors(child.pid))
    for what in ("memory", "stacks", "memory"):
        ended(collector, order(collector, what))
    wait_for("each descriptor is closed", lambda: _descriptors(child.pid) == files)
    wait_for("each file is removed", lambda: not list((tmp_path / "temporary").iterdir()))


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _steady_descriptors(pid: int) -> int | None:
    """Return how many descriptors a process has open, as soon as that does not change for a while."""
    before = _descriptors(pid)
    time.sleep(0.5)
    return before if _descriptors(pid) == before else None
