"""YAML as values that know their lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_reports.specification.document import read_document
from flyball_reports.specification.problems import SpecificationError


def test_values_know_the_line_of_their_key() -> None:
    """A message names the place where an editor should go."""
    root = read_document("a: 1\nb:\n  c: [x,\n    y]\n  d:\n    7.5\n")
    assert root.plain == {"a": 1, "b": {"c": ["x", "y"], "d": 7.5}}
    assert isinstance(root.value, dict)
    inner = root.value["b"].value
    assert isinstance(inner, dict)
    assert [root.value["a"].line, root.value["b"].line, inner["c"].line, inner["d"].line] == [1, 2, 3, 5]


def test_numbers_words_and_nothing_are_what_yaml_says() -> None:
    """Dates stay words; an underscore divides thousands; nothing is nothing."""
    root = read_document("a: 1_000\nb: 2026-01-02\nc: yes\nd: ~\ne: 1e9\nf: 0x10\n")
    assert root.plain == {"a": 1000, "b": "2026-01-02", "c": True, "d": None, "e": "1e9", "f": 16}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\na: 2\n", 2, "second time (first on line 1)"),
        ("a: [1, 2\nb: 3\n", 2, "expected"),
        ("a:\n\tb: 1\n", 2, "cannot start any token"),
        ("- 1\n- 2\n", 1, "expected keys such as model"),
        ("just words\n", 1, "not 'just words'"),
        ("? [1, 2]\n: 3\n", 1, "a key must be a word"),
        ("a: " + "[" * 60 + "]" * 60, 1, "nested too deeply"),
        ("a: \x01\n", 0, "is no YAML"),
        ("x: &a [1,1,1,1,1,1,1,1]\n" + "".join(
            f"y{n}: &b{n} [{', '.join(['*a' if n == 0 else f'*b{n - 1}'] * 8)}]\n" for n in range(8)), 0, "too large"),
    ],
)  # fmt: skip
def test_what_is_no_specification_is_told_with_its_line(text: str, line: int, words: str) -> None:
    """Broken, doubled, deep and exploding files end in one clear message."""
    with pytest.raises(SpecificationError) as told:
        read_document(text, "run.yaml")
    (problem,) = told.value.problems
    assert words in problem.message
    assert not line or problem.line == line
    assert str(told.value).startswith("run.yaml")


def test_an_empty_file_has_no_keys() -> None:
    """What is missing is said by whoever needs it."""
    assert read_document("").plain == {}
    assert read_document("# nothing\n").plain == {}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    """No text makes an exception that nobody foresaw."""
    told: object
    try:
        told = read_document(text).plain
    except SpecificationError as error:
        told = str(error)
    assert isinstance(told, dict) or told
