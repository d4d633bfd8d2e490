"""Sorting rows in memory or with a temporary file."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.replay.csv_rows import CsvRow
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.sorted_rows import SortedRows

times = st.lists(st.sampled_from([0.0, 0.5, 1.0, 57.0, 1e9 + 1 / 3]), max_size=60)


def row(number: int, seconds: float = 0.0) -> CsvRow:
    return CsvRow(seconds, f"{seconds}", "höst", "GPU-0", "", 0b101, (number, 0.1))


@given(seconds=times, piece_rows=st.integers(1, 9))
def test_rows_are_sorted_in_any_number_of_pieces(seconds: list[float], piece_rows: int) -> None:
    """The order is that of a stable sort, also when they are iterated again."""
    rows = [row(number, at) for number, at in enumerate(seconds)]
    found = SortedRows(rows, piece_rows)
    assert list(found) == list(found) == sorted(rows, key=lambda each: each.seconds)
    assert bool(found) == bool(rows)


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the folder and a remedy."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ReplayError, match=r"cannot write temporary rows to .*gone: .*; set TMPDIR"):
        SortedRows([row(number) for number in range(3)], piece_rows=1)
