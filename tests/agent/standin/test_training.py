"""Tests of the simulated training: the reports of its ranks, and how they show the slow rank."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.standin.scenarios import make_scenario
from flyball_agent.standin.training import reports, train


def test_steps_are_equally_long_and_the_slow_rank_waits_least() -> None:
    """All ranks wait for the slowest in collectives, so only the sections show which one it is."""
    for all_reports in islice(reports(8, 4, random.Random(1)), 20):
        assert len({report["step_seconds"] for report in all_reports}) == 1
        sections: list[Any] = [report["section_seconds"] for report in all_reports]
        compute, waiting = ([each[name] for each in sections] for name in ("forward", "all_reduce"))
        assert compute.index(max(compute)) == waiting.index(min(waiting)) == 4
        assert max(compute) > 1.5 * sorted(compute)[4]


def test_every_rank_reports_until_the_agent_closes_the_connection(tmp_path: Path) -> None:
    """Each rank has its own connection and sends a hello and reports, which are answered."""
    received: list[dict[str, object]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        answering = threading.Thread(target=_answer, args=(listener, 2, received))
        answering.start()
        with pytest.raises(OSError, match=r"closed|reset|Broken"):
            train(str(tmp_path / "s"), "r", 2, 1)
        answering.join()
    assert [line["kind"] for line in received] == ["hello", "hello", "steps", "steps"]
    assert [(line["run"], line["rank"], line["world_size"]) for line in received[:2]] == [("r", 0, 2), ("r", 1, 2)]


def test_the_training_is_the_process_on_the_gpus(tmp_path: Path) -> None:
    """The GPUs of the scenario belong to the process that reports the steps; nothing else changes."""
    scenario = tmp_path / "scenario"
    played = make_scenario("straggler", 2, pid=os.getpid()).started_at(12.5).text()
    scenario.write_text(played, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "flyball_agent.standin.training",
        str(tmp_path / "none"),
        "r",
        "2",
        "1",
        str(tmp_path),
    ]
    with subprocess.Popen(command) as training:
        try:
            until = time.monotonic() + 120
            while (text := scenario.read_text(encoding="utf-8")) == played and time.monotonic() < until:
                time.sleep(0.01)
        finally:
            training.kill()
    assert text == make_scenario("straggler", 2, pid=training.pid).started_at(12.5).text() != played


def _answer(listener: socket.socket, ranks: int, received: list[dict[str, object]]) -> None:
    """Act as the agent for one hello and one report of each rank."""
    connections = []
    for _ in range(ranks):
        connection, _ = listener.accept()
        connections.append((connection, connection.makefile("r")))
        received.append(json.loads(connections[-1][1].readline()))
        connection.sendall(b'{"kind":"ok"}\n')
    for connection, lines in connections:
        received.append(json.loads(lines.readline()))
        connection.sendall(b'{"kind":"ok"}\n')
    for connection, lines in connections:
        lines.close()
        connection.close()
