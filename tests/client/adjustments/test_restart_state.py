"""Tests of values for the next start."""

from pathlib import Path

import pytest

from flyball.adjustments.restart_state import FOLDER, can_remember, remember, remembered


def test_nothing_is_kept_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that nobody restarts keeps nothing."""
    monkeypatch.delenv(FOLDER, raising=False)
    assert not can_remember()
    assert not remember("a", "size", 8)
    assert remembered("a", "size") is None


def test_values_are_kept_by_run_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has its values, whatever its name, and a later one replaces an earlier one."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for run in ("a", "../b/c", "ä" * 200):
        assert remember(run, "size", 8)
        assert remember(run, "precision", "fp32")
        assert remember(run, "size", 4)
        assert (remembered(run, "size"), remembered(run, "precision")) == (4, "fp32")
    assert len(list(tmp_path.iterdir())) == 3
    assert remembered("d", "size") is None


def test_a_damaged_file_holds_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not valid counts as absent, and is replaced."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    remember("a", "size", 8)
    (file,) = tmp_path.iterdir()
    file.write_text("[1,")
    assert remembered("a", "size") is None
    assert remember("a", "size", 2)
    assert remembered("a", "size") == 2


def test_a_folder_that_is_gone_raises_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised where the value cannot be kept."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "absent"))
    assert not remember("a", "size", 8)
    assert remembered("a", "size") is None
