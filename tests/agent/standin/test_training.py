"""The stand-in training: what its ranks report, and that the slow one can be told from them."""

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

import pytest

from flyball_agent.standin.scenarios import make_scenario
from flyball_agent.standin.training import reports, train


def test_steps_are_equally_long_and_the_slow_rank_waits_least() -> None:
    """Collectives make all wait for the slowest: only the sections tell who it is."""
    for together in islice(reports(8, 4, random.Random(1)), 20):
        assert len({report["step_seconds"] for report in together}) == 1
        own, waiting = ([report["section_seconds"][name] for report in together] for name in ("forward", "all_reduce"))  # type: ignore[index]  # a mapping
        assert own.index(max(own)) == waiting.index(min(waiting)) == 4
        assert max(own) > 1.5 * sorted(own)[4]


def test_every_rank_says_hello_and_reports_until_the_agent_goes(tmp_path: Path) -> None:
    """One connection a rank, a line each, each line answered."""
    heard: list[dict[str, object]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        answering = threading.Thread(target=_answer, args=(listener, 2, heard))
        answering.start()
        with pytest.raises(OSError, match=r"closed|reset|Broken"):
            train(str(tmp_path / "s"), "r", 2, 1)
        answering.join()
    assert [line["kind"] for line in heard] == ["hello", "hello", "steps", "steps"]
    assert [(line["run"], line["rank"], line["world_size"]) for line in heard[:2]] == [("r", 0, 2), ("r", 1, 2)]


def test_the_training_holds_the_gpus_and_changes_nothing_else_of_them(tmp_path: Path) -> None:
    """What its GPUs lose can be told as its run's: they belong to the process that reports the steps."""
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
            until = time.monotonic() + 30
            while (text := scenario.read_text(encoding="utf-8")) == played and time.monotonic() < until:
                time.sleep(0.01)
        finally:
            training.kill()
    assert text == make_scenario("straggler", 2, pid=training.pid).started_at(12.5).text() != played


def _answer(listener: socket.socket, ranks: int, heard: list[dict[str, object]]) -> None:
    """Be the agent for one hello and one report of each rank."""
    connections = []
    for _ in range(ranks):
        connection, _ = listener.accept()
        connections.append((connection, connection.makefile("r")))
        heard.append(json.loads(connections[-1][1].readline()))
        connection.sendall(b'{"kind":"ok"}\n')
    for connection, lines in connections:
        heard.append(json.loads(lines.readline()))
        connection.sendall(b'{"kind":"ok"}\n')
    for connection, lines in connections:
        lines.close()
        connection.close()
