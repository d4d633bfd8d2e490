"""Executors of runs: this machine and Dask clusters."""

import json
import os
import sys
from pathlib import Path

import pytest

from flyball.command import run

Captured = pytest.CaptureFixture[str]
LEARN = "import json, sys; print(json.dumps({'patterns': 10 ** (3 * int(sys.argv[1]))}))"


def test_a_sweep_runs_on_a_cluster_and_continues(tmp_path: Path, capsys: Captured) -> None:
    """On a local Dask cluster; results of the journal are not measured again, and the output has their number."""
    journal = str(tmp_path / "journal")
    words = ["--journal", journal, "--dask", "local", "--format", "json", "--", sys.executable, "-c", LEARN, "{depth}"]
    assert run(["sweep", "--try", "depth=1-2", *words]) == 0
    assert len(json.loads(capsys.readouterr().out)["ranking"]) == 2
    assert run(["sweep", "--try", "depth=1-3", *words[:2], *words[4:]]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["ranking"][0]["patterns"] == 10**9  # whatever the runs took
    assert f"2 of 3 were already in {journal}" in captured.err


def test_growth_is_measured_on_a_cluster(tmp_path: Path, capsys: Captured) -> None:
    """On a local Dask cluster, in another process; a second analysis measures nothing again."""
    journal = tmp_path / "journal"
    work = "import os, sys; print(os.getppid(), file=open(sys.argv[2], 'a')); sum(range(20 * int(sys.argv[1])))"
    words = ["--sizes", "100,1000,10000", "--targets", "1e6", "--repeats", "1", "--format", "json"]
    command = [sys.executable, "-c", work, "{samples}", str(tmp_path / "parents")]
    for _ in range(2):
        assert run(["scale", *words, "--journal", str(journal), "--dask", "local", "--", *command]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [each["size"] for each in document["measured"]] == [100, 1000, 10_000]
        assert document["forecast"][0]["range_seconds"]["low"] <= document["forecast"][0]["range_seconds"]["high"]
    parents = (tmp_path / "parents").read_text(encoding="utf-8").split()
    assert len(parents) == 3
    assert str(os.getpid()) not in parents


def test_a_scheduler_that_does_not_answer_is_an_error(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, without a traceback."""
    monkeypatch.setattr("flyball.command.executors.CONNECT_SECONDS", 0.2)
    assert run(["sweep", "--try", "depth=1", "--dask", "tcp://127.0.0.1:9", "--", "true"]) == 1
    assert "no scheduler answers" in capsys.readouterr().err


def test_a_program_that_does_not_exist_is_an_error(capsys: Captured) -> None:
    """The message has its name and the reason of the system."""
    assert run(["sweep", "--try", "depth=1", "--", "no-such-program"]) == 1
    assert "depth=1 samples=100: there is no program no-such-program" in capsys.readouterr().err


def test_a_value_that_is_not_an_argument_is_noted(capsys: Captured) -> None:
    """The command must then read it from its environment; a misspelt name would have no effect."""
    read = "import os; os.environ['FLYBALL_DEPTH']"
    assert run(["sweep", "--try", "depth=1", "--", sys.executable, "-c", read]) == 0
    note = "the command does not contain {depth}; it must read the variable FLYBALL_DEPTH"
    assert note in capsys.readouterr().err
    assert run(["sweep", "--try", "depth=1", "--", sys.executable, "-c", "0", "{depth}"]) == 0
    assert note not in capsys.readouterr().err


def test_a_sweep_has_a_chart(tmp_path: Path) -> None:
    """It shows the rate over the values of each parameter."""
    page = tmp_path / "sweep.html"
    words = ["sweep", "--try", "depth=1-3", "--output", str(page), "--", sys.executable, "-c", LEARN, "{depth}"]
    assert run(words) == 0
    assert 'id="depth"' in page.read_text(encoding="utf-8")
