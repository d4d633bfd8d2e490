"""Tests of the inspection of a spool."""

import json
from pathlib import Path

import pytest

from flyball_agent.command import main
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.testing import FakeHostClock


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Create a state directory with one epoch of 100 records in several files, one of them damaged."""
    spool = Spool(
        tmp_path / "spool",
        SpoolSettings(max_bytes=64 * 1024, segment_bytes=8192),
        clock=FakeHostClock(),
        self_metrics=SelfMetrics(),
        announce=lambda _kind, _text: None,
    )
    spool.begin(an_epoch(1))
    for sequence in range(100):
        spool.append(a_tick(sequence))
    spool.close()
    path = sorted((tmp_path / "spool").glob("*.spool"))[1]
    data = bytearray(path.read_bytes())
    data[4000:4100] = b"\x00" * 100
    path.write_bytes(data)
    return tmp_path


def test_json_contains_ranges_and_damage(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON output has the ranges and the number of damaged bytes of each file."""
    before = {path: path.read_bytes() for path in (state / "spool").iterdir()}
    assert main(["spool", "inspect", str(state), "--format", "json"]) == 0
    (epoch,) = json.loads(capsys.readouterr().out)["epochs"]
    assert epoch["epoch"] == an_epoch(1).name
    assert sum(segment["records"] for segment in epoch["segments"]) in {98, 99}
    assert epoch["segments"][0]["ranges"][0][0] == 0
    assert [segment["damaged_bytes"] > 0 for segment in epoch["segments"]].count(True) == 1
    assert {path: path.read_bytes() for path in (state / "spool").iterdir()} == before


def test_text_contains_epochs_files_and_damage(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text output has epochs, files, ranges and damage."""
    assert main(["spool", "inspect", str(state)]) == 0
    shown = capsys.readouterr().out
    assert "bytes damaged" in shown
    assert "records 0–" in shown


def test_no_spool_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message for a missing folder, a file and a folder without a spool contains the path."""
    (tmp_path / "file").touch()
    for place, message in (("nowhere", "there is no folder"), ("file", "is a file"), ("", "contains no spool")):
        assert main(["spool", "inspect", str(tmp_path / place)], program="flyball") == 2
        errors = capsys.readouterr().err
        assert errors.startswith("flyball: ")
        assert str(tmp_path / place) in errors
        assert message in errors
