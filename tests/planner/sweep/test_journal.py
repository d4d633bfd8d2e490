"""Results on disk survive kills and are never mixed."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.sweep.journal import Journal
from flyball_reports.errors import InputError

FEW = settings(max_examples=25, deadline=None)  # each is synced to disk
RECORDS = st.lists(st.dictionaries(st.text(max_size=5), st.integers()), max_size=4)


@given(RECORDS)
@FEW
def test_what_was_appended_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, int]]
) -> None:
    """Each record comes back, in order."""
    path = tmp_path_factory.mktemp("journal") / "results.jsonl"
    with Journal(path, {"subject": "a"}) as journal:
        for record in records:
            journal.append(record)
    with Journal(path, {"subject": "a"}) as journal:
        assert journal.records == records


@given(st.integers(0, 200))
@FEW
def test_a_file_torn_anywhere_keeps_its_whole_lines(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """Wherever a kill or a full disk tore it, whole lines stay and new ones follow them."""
    path = tmp_path_factory.mktemp("journal") / "results.jsonl"
    with Journal(path, {"subject": "a"}) as journal:
        for number in range(5):
            journal.append({"number": number})
    content = path.read_bytes()[:cut]
    path.write_bytes(content)
    whole = max(0, content.count(b"\n") - 1)  # less the head
    with Journal(path, {"subject": "a"}) as journal:
        assert journal.records == [{"number": number} for number in range(whole)]
        journal.append({"number": -1})
    assert json.loads(path.read_bytes().splitlines()[-1]) == {"number": -1}


def test_results_of_something_else_are_refused(tmp_path: Path) -> None:
    """A file of another sweep is neither read nor changed."""
    path = tmp_path / "results.jsonl"
    with Journal(path, {"subject": "a"}):
        pass
    before = path.read_bytes()
    with pytest.raises(InputError, match="something else"), Journal(path, {"subject": "b"}):
        pass
    assert path.read_bytes() == before


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    """A user's notes are told from results by their first line, and left alone."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(InputError, match=r"notes.txt:1 is no result"), Journal(path, {}):
        pass
    assert path.read_text() == "my notes\n"


@pytest.mark.parametrize(
    "content", [b"my notes", b"my notes\nwithout an end", bytes(100), b'{"flyball_journal": 1}\n{']
)
def test_a_file_that_is_no_journal_keeps_its_last_line(content: bytes, tmp_path: Path) -> None:
    """Only of one's own journals is a torn line cut off."""
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(InputError, match="notes"), Journal(path, {"subject": "a"}):
        pass
    assert path.read_bytes() == content


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/proc/none/results"])
def test_a_place_that_keeps_nothing_is_told(path: str) -> None:
    """Before anything is measured."""
    with pytest.raises(InputError, match=f"{path} cannot keep results: .*; give another file"), Journal(Path(path), {}):
        pass


def test_two_sweeps_cannot_write_one_file(tmp_path: Path) -> None:
    """The second is told to wait; after the first it may."""
    path = tmp_path / "results.jsonl"
    with Journal(path, {}), pytest.raises(InputError, match="in use by another"), Journal(path, {}):
        pass
    with Journal(path, {}) as journal:
        assert journal.records == []
