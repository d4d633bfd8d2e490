"""Reports on the socket arrive at the collector: calls, levels, sections, and a new attempt."""

import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.processes import Agent, Collector, wait_for

RUN = "llama/7b é"


class Training:
    """A training without a client library: lines of JSON on the socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rw")

    def __enter__(self) -> "Training":
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def send(self, **message: object) -> None:
        self._lines.write(json.dumps(message) + "\n")
        self._lines.flush()
        assert json.loads(self._lines.readline()) == {"kind": "ok"}

    def hello(self, attempt: int) -> None:
        self.send(kind="hello", run=RUN, world_size=1, attempt=attempt, total_samples=1000, client="0.2.0", group="j1")

    def steps(self, step: int, steps: int) -> None:
        self.send(
            kind="steps", step=step, steps=steps, step_seconds=0.5 * steps, samples=2.0 * steps, loss=1.5,
            section_seconds={"forward": 0.25 * steps}, levels=[{"level": "node0", "items": 4 * steps, "seconds": 0.1}],
            calls=[{"service": "kato", "count": 3 * steps, "seconds": 0.3 * steps, "errors": 1}],
            device_seconds=0.4 * steps, dropped=1,
        )  # fmt: skip


def test_calls_and_attempts_reach_the_collector(tmp_path: Path) -> None:
    """The series of the exporter are complete, and after a restart from a checkpoint the step is an earlier one."""
    with (
        Collector(tmp_path / "collector").start_ready() as collector,
        Agent(tmp_path / "agent", collector.grpc_port, {"interval_seconds": 0.2}).start() as agent,
    ):
        wait_for("the socket is there", agent.socket.exists)
        # Records from before the connection are replayed into the store, and are not part of the live figures.
        wait_for("the agent is connected", lambda: collector.metric("flyball_agent_up") == 1)
        with Training(agent.socket) as training:
            training.hello(attempt=0)
            training.steps(step=100, steps=100)
            wait_for("its steps are exported", lambda: collector.metric("flyball_run_steps_total") == 100)
            training.hello(attempt=1)
            training.steps(step=80, steps=10)
            wait_for("the new attempt is exported", lambda: collector.metric("flyball_run_steps_total") == 110)
            wait_for("the run is listed", lambda: _run(collector))
            assert collector.metric("flyball_run_step") == 80
            assert collector.metric("flyball_run_calls_total") == 330
            assert collector.metric("flyball_run_call_errors_total") == 2
            assert _close(collector.metric("flyball_run_call_seconds_total"), 33.0)
            assert _close(collector.metric("flyball_run_device_busy_seconds_total"), 44.0)
            run = _run(collector)
            assert run is not None
            assert (run["run"], run["labels"]["total_samples"]) == (RUN, "1000")
            details = collector.get(f"/api/v1/run?name={quote(RUN)}")
            assert (details["attempt"], details["ranks"][0]["step"], details["dropped"]) == (1, 80, 2)
            assert [service["service"] for service in details["services"]] == ["kato"]
            assert [level["level"] for level in details["levels"]] == ["node0"]
            assert "forward" in [section["name"] for section in details["sections"]]


def _run(collector: Collector) -> dict[str, Any] | None:
    runs = [run for run in collector.get("/api/v1/runs")["runs"] if run["source"] == "client"]
    return runs[0] if runs else None


def _close(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) < 1e-6 * expected
