"""A benchmark that fails does not affect the others and is reported."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.benchmarks import run
from tests.benchmarks.figure import plain, report


@pytest.mark.usefixtures("two_benchmarks")
def test_the_others_are_measured_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["run", "--json", str(written)])
    assert run.main() == 1
    assert json.loads(written.read_text())["figures"] == {"test_run": [asdict(FIGURE)]}


@pytest.mark.usefixtures("two_benchmarks")
def test_failures_are_listed_at_the_end(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["run", "--only", "not_there"])
    assert run.main() == 1
    assert capfd.readouterr().err.endswith("not_there failed: the reason is above; it is not in the table\n")


@pytest.mark.usefixtures("two_benchmarks")
def test_all_is_well_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run", "--only", "test_run"])
    assert run.main() == 0


@pytest.fixture
def two_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BENCHMARKS", {"not_there": "a module that is missing", "test_run": "this file"})


FIGURE = plain("seconds", 1.0, "s")

if __name__ == "__main__":  # this file as a benchmark: one figure
    report([FIGURE])
