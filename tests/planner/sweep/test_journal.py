"""Tests of the journal: results survive a kill, and results of different sweeps are never mixed."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.sweep.journal import SweepJournal
from flyball_reports.errors import InputError

FEW = settings(max_examples=25, deadline=None)  # each example is synced to disk
RECORDS = st.lists(st.dictionaries(st.text(max_size=5), st.integers()), max_size=4)


@given(RECORDS)
@FEW
def test_appended_records_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, int]]
) -> None:
    """All records are read back in order."""
    path = tmp_path_factory.mktemp("journal") / "results.jsonl"
    with SweepJournal(path, {"subject": "a"}) as journal:
        for record in records:
            journal.append(record)
    with SweepJournal(path, {"subject": "a"}) as journal:
        assert journal.records == records


@given(st.integers(0, 200))
@FEW
def test_a_truncated_file_keeps_its_complete_lines(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """After truncation at any byte, complete lines are kept and new ones are appended."""
    path = tmp_path_factory.mktemp("journal") / "results.jsonl"
    with SweepJournal(path, {"subject": "a"}) as journal:
        for number in range(5):
            journal.append({"number": number})
    content = path.read_bytes()[:cut]
    path.write_bytes(content)
    complete = max(0, content.count(b"\n") - 1)  # without the header
    with SweepJournal(path, {"subject": "a"}) as journal:
        assert journal.records == [{"number": number} for number in range(complete)]
        journal.append({"number": -1})
    assert json.loads(path.read_bytes().splitlines()[-1]) == {"number": -1}


def test_results_of_another_sweep_are_refused(tmp_path: Path) -> None:
    """A file of another sweep is refused and not changed."""
    path = tmp_path / "results.jsonl"
    with SweepJournal(path, {"subject": "a"}):
        pass
    before = path.read_bytes()
    with pytest.raises(InputError, match="another sweep"), SweepJournal(path, {"subject": "b"}):
        pass
    assert path.read_bytes() == before


def test_another_file_is_refused(tmp_path: Path) -> None:
    """A file that is not a journal is recognised by its first line and not changed."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(InputError, match=r"notes.txt:1 is not a result"), SweepJournal(path, {}):
        pass
    assert path.read_text() == "my notes\n"


@pytest.mark.parametrize(
    "content", [b"my notes", b"my notes\nwithout an end", bytes(100), b'{"flyball_journal": 1}\n{']
)
def test_another_file_is_not_truncated(content: bytes, tmp_path: Path) -> None:
    """An incomplete last line is cut off only in a journal."""
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(InputError, match="notes"), SweepJournal(path, {"subject": "a"}):
        pass
    assert path.read_bytes() == content


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/proc/none/results"])
def test_a_path_that_cannot_keep_results_is_refused(path: str) -> None:
    """A device file or an unwritable path is refused before anything is measured."""
    with (
        pytest.raises(InputError, match=f"{path} cannot store results: .*; choose another file"),
        SweepJournal(Path(path), {}),
    ):
        pass


def test_two_sweeps_cannot_write_one_file(tmp_path: Path) -> None:
    """A second sweep is refused while the first one runs, and accepted afterwards."""
    path = tmp_path / "results.jsonl"
    with SweepJournal(path, {}), pytest.raises(InputError, match="in use by another"), SweepJournal(path, {}):
        pass
    with SweepJournal(path, {}) as journal:
        assert journal.records == []
