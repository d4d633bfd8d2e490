"""Lists of judged files say what they mean, or are refused with the place."""

from pathlib import Path

import pytest

from flyball_audit.rules import RULES
from tests.benchmarks.audit_judged.cases import LISTS, BadList, Place, read_list

CASE = """
- repository: owner/name
  revision: abc
  part: kept
  files: [train.py]
"""


def test_a_place_is_a_line_of_a_file_or_of_a_cell() -> None:
    """Both are written as findings write them."""
    assert Place.of("a/train.py:12") == Place("a/train.py", None, 12)
    assert Place.of("a.ipynb:cell 3:4") == Place("a.ipynb", 3, 4)


@pytest.mark.parametrize("text", ["train.py", "train.py:", ":3", "train.py:x"])
def test_what_is_no_place_is_refused(text: str) -> None:
    """The error shows how to write one."""
    with pytest.raises(BadList, match="write PATH:LINE"):
        Place.of(text)


def test_near_is_within_some_lines_of_the_same_file_and_cell() -> None:
    """Two lines off is near enough, another file never."""
    place = Place("train.py", None, 10)
    assert place.near(Place("train.py", None, 12), 2)
    assert not place.near(Place("train.py", None, 13), 2)
    assert not place.near(Place("other.py", None, 10), 2)
    assert not place.near(Place("train.py", 1, 10), 2)


def test_a_folder_stands_for_all_that_it_holds(tmp_path: Path) -> None:
    """A place in it is among the case's files; one beside it is not."""
    path = tmp_path / "list.yaml"
    case = (
        CASE.replace("train.py", "src/")
        + "  verdicts: [{rule: retained-graph, at: 'WHERE:3', right: true, reason: so}]"
    )
    path.write_text(case.replace("WHERE", "src/train.py"))
    assert read_list(path)[0].verdicts[0].at == "src/train.py:3"
    path.write_text(case.replace("WHERE", "src.py"))
    with pytest.raises(BadList, match=r"src\.py is not among"):
        read_list(path)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("  faults: [{rule: retained-graph, at: ['eval.py:3']}]", "eval.py is not among"),
        ("  faults: [{rule: retained-graph, at: ['train.py:3'], fixed: def}]", "both `fixed` and `fixed_at`"),
        ("  faults: [{rule: retained-graph}]", "missing required field `at`"),
        ("  fault: []", "unknown field `fault`"),
        ("  verdicts: [{rule: retained-graph, at: 'train.py', right: true, reason: so}]", "is no place"),
    ],
)
def test_a_list_that_cannot_be_true_is_refused(tmp_path: Path, more: str, why: str) -> None:
    """What is wrong is named."""
    path = tmp_path / "list.yaml"
    path.write_text(CASE + more)
    with pytest.raises(BadList, match=why):
        read_list(path)


@pytest.mark.parametrize("path", sorted(LISTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_lists_hold_known_rules_and_no_case_twice(path: Path) -> None:
    """A rule that was renamed would be missed for ever."""
    cases = read_list(path)
    rules = {each.rule for case in cases for each in case.faults} | {
        each.rule for case in cases for each in case.verdicts
    }
    assert rules <= {rule.id for rule in RULES}
    names = [(case.repository, case.revision, name) for case in cases for name in case.files]
    assert len(names) == len(set(names))
