"""The JSON file of a profile."""

import json
import os
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from flyball.profiling.profile_file import SCHEMA_VERSION, ProfileNotWritten, profile_document, write_profile
from flyball.profiling.profiling_summary import ProfilingSummary
from flyball.profiling.resource_snapshot import LevelRate, ResourceSnapshot


def test_the_document_has_a_version_the_summary_and_the_snapshots(tmp_path: Path) -> None:
    """Plain JSON; unknown values are null."""
    snapshot = ResourceSnapshot(1e9, 2.0, memory_bytes=5, level_rates=(LevelRate("node0", 3.0),))
    path = tmp_path / "profile.json"
    write_profile(path, profile_document(ProfilingSummary(3.0, 1.0, 1), [snapshot], ["ls", "-l"]))
    found = json.loads(path.read_text())
    assert found["schema_version"] == SCHEMA_VERSION
    assert found["command"] == ["ls", "-l"]
    assert found["summary"]["duration_seconds"] == 3.0
    assert found["summary"]["peak_memory_mb"] is None
    assert found["snapshots"][0]["level_rates"] == [{"level": "node0", "items_per_second": 3.0}]
    assert os.listdir(tmp_path) == ["profile.json"]  # noqa: PTH208  no other file remains


def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    """It names the file and what to do, and an older file remains."""
    with pytest.raises(
        ProfileNotWritten, match=r"cannot write .*missing/p.json: No such file or directory. Name a file"
    ):
        write_profile(tmp_path / "missing" / "p.json", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProfileNotWritten, match="folder"):
        write_profile(tmp_path / "folder", {})
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_snapshot_cannot_be_changed() -> None:
    """It is a fact of its moment, and has no other attributes."""
    snapshot = ResourceSnapshot(1.0, 2.0, memory_bytes=3_000_000)
    with pytest.raises(FrozenInstanceError):
        snapshot.memory_bytes = 4  # type: ignore[misc]
    assert not hasattr(snapshot, "__dict__")
    assert snapshot.memory_mb == 3.0
