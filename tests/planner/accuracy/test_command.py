"""The accuracy command."""

import json
from pathlib import Path

import pytest

from flyball_planner.accuracy.__main__ import main


def test_a_wrong_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without tables ends with status 2 and says what to do."""
    assert main([str(tmp_path)]) == 2
    assert "holds no table" in capsys.readouterr().err


def test_json_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The four lists are there even where no table is known."""
    (tmp_path / "other.csv").write_text("id\n1\n")
    assert main([str(tmp_path), "--format", "json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"results", "ineligible", "unpredicted", "worst"}
