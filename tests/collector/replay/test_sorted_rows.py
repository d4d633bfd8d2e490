"""Rows in rising time, in memory or put aside on a disk."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.replay.csv_rows import Row
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.sorted_rows import SortedRows

times = st.lists(st.sampled_from([0.0, 0.5, 1.0, 57.0, 1e9 + 1 / 3]), max_size=60)


def row(number: int, seconds: float = 0.0) -> Row:
    return Row(seconds, f"{seconds}", "höst", "GPU-0", "", 0b101, (number, 0.1))


@given(seconds=times, piece_rows=st.integers(1, 9))
def test_rows_come_in_rising_time_however_many_pieces_they_are(seconds: list[float], piece_rows: int) -> None:
    """As a stable sort of all of them would give them, and again when they are gone through once more."""
    rows = [row(number, at) for number, at in enumerate(seconds)]
    found = SortedRows(rows, piece_rows)
    assert list(found) == list(found) == sorted(rows, key=lambda each: each.seconds)
    assert bool(found) == bool(rows)


def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says where rows could not be put aside, and what to do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ReplayError, match=r"gone: rows cannot be put aside here: .*; set TMPDIR"):
        SortedRows([row(number) for number in range(3)], piece_rows=1)
