"""Specifications of the usual form, read without PyYAML."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flyball_planner.specification.bundled import example_names, example_text
from flyball_reports.specification.document import read_yaml
from flyball_reports.specification.plain import read_plain
from flyball_reports.specification.problems import SpecificationError

VALUES = st.one_of(
    st.text("0123456789_.eE+-", min_size=1, max_size=8),
    st.text("01x.:-aen~ ,[]{}#'\"&*!|>%@×٣\t", max_size=6),
    st.sampled_from(["yes", "No", "NULL", "off", "y", "26B", "bf16", "[1, 2]", "[a, 2.5]", "2026-01-02", "a b", "<<"]),
    st.text(max_size=3),
)
LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "", "  ", "  ", "    ", " ", "\t"]),
    st.sampled_from([*"abcdefgh", "yes", "_", "ü", "1", "- a", "a b"]),
    st.sampled_from([":", ":", ":", ": 1", ": a b", ": [1, 2]", ":1", ""]),
    st.sampled_from(["", "", "", " ", " # said", "# said", "\r"]),
)


@pytest.mark.parametrize("name", example_names())
def test_the_examples_are_of_the_usual_form(name: str) -> None:
    """They are read without PyYAML, and as it reads them."""
    text = example_text(name)
    assert read_plain(text) == read_yaml(text)


@given(VALUES)
@example("9" * 5000)
@example("1.5e9")
def test_a_value_that_is_read_so_is_what_yaml_says(value: str) -> None:
    """Words, numbers and lists; what else a value may be is left to PyYAML, its faults too."""
    assert_read_alike(f"a: {value}")
    assert_read_alike(f"a: [b, {value}]")


@given(st.lists(LINES, max_size=5).map("\n".join))
@example("a:\n  b: 1\n  c: [1, x]  # said\n\nd: word word")
@example("a:\n    b:\n  c: 1")
@example("a: word\n  more: words")
@example("a: 1\na: 2")
def test_groups_that_are_read_so_are_what_yaml_says(text: str) -> None:
    """Indentation, comments, keys without a value; what else a file may hold is left to PyYAML."""
    assert_read_alike(text)


def assert_read_alike(text: str) -> None:
    """Either as PyYAML reads it, or not at all."""
    found = read_plain(text)
    assert found is None or found == read_yaml(text)


@given(
    st.recursive(
        st.one_of(st.integers(0), st.booleans(), st.sampled_from(["bf16", "resnet50", "26B", "a word"]), st.none()),
        lambda inner: st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), inner, min_size=1, max_size=4),
        max_leaves=12,
    ).filter(lambda made: isinstance(made, dict))
)
def test_nested_groups_are_of_the_usual_form(made: dict[str, object]) -> None:
    """No group of keys, however nested, needs PyYAML."""
    found = read_plain(_written(made))
    assert found is not None
    assert found.plain == made


def _written(group: dict[str, object], indent: int = 0) -> str:
    return "\n".join(" " * indent + _pair(key, value, indent) for key, value in group.items())


def _pair(key: str, value: object, indent: int) -> str:
    if isinstance(value, dict):
        return f"{key}:\n{_written(value, indent + 2)}"
    return f"{key}: {'' if value is None else str(value).lower() if isinstance(value, bool) else value}"


def test_what_only_yaml_can_read_is_left_to_it() -> None:
    """Quotes, lists of lines, anchors and faults."""
    for text in ("", "- 1", "a: 'b'", "a: &x 1", "a:\n- 1", "a: {b: 1}", "a: >\n  b", "a:\tb", "a"):
        assert read_plain(text) is None
    with pytest.raises(SpecificationError):
        read_yaml("a: [1")
