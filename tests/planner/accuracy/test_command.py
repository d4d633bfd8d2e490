"""Tests of the accuracy command."""

import json
from pathlib import Path

import pytest

from flyball_planner.accuracy.__main__ import main


def test_a_folder_without_tables_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without tables gives exit status 2 and an error message."""
    assert main([str(tmp_path)]) == 2
    assert "contains no *.csv files" in capsys.readouterr().err


def test_json_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has its four lists even if no table is known."""
    (tmp_path / "other.csv").write_text("id\n1\n")
    assert main([str(tmp_path), "--format", "json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"results", "ineligible", "unpredicted", "worst"}
