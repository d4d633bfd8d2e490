"""Reading YAML into values with lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.specification.example_files import example_names, example_text
from flyball_reports.specification.document import read_document
from flyball_reports.specification.problems import SpecificationError


def test_values_know_the_line_of_their_key() -> None:
    """Each value has the line of its key."""
    root = read_document("a: 1\nb:\n  c: [x,\n    y]\n  d:\n    7.5\n")
    assert root.plain == {"a": 1, "b": {"c": ["x", "y"], "d": 7.5}}
    assert isinstance(root.value, dict)
    inner = root.value["b"].value
    assert isinstance(inner, dict)
    assert [root.value["a"].line, root.value["b"].line, inner["c"].line, inner["d"].line] == [1, 2, 3, 5]


def test_scalars_follow_yaml() -> None:
    """Dates stay text, underscores may group digits, and ~ is None."""
    root = read_document("a: 1_000\nb: 2026-01-02\nc: yes\nd: ~\ne: 1e9\nf: 0x10\n")
    assert root.plain == {"a": 1000, "b": "2026-01-02", "c": True, "d": None, "e": "1e9", "f": 16}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\na: 2\n", 2, "duplicate key 'a' (first on line 1)"),
        ("a: [1, 2\nb: 3\n", 2, "expected"),
        ("a:\n\tb: 1\n", 2, "cannot start any token"),
        ("- 1\n- 2\n", 1, "expected keys such as model"),
        ("just words\n", 1, "not 'just words'"),
        ("? [1, 2]\n: 3\n", 1, "a key must be text"),
        ("a: " + "[" * 60 + "]" * 60, 1, "nested more than 20 levels deep"),
        ("a: 1\nb: \x01\n", 2, "not valid YAML: control character U+0001"),
        ("x: &a [1,1,1,1,1,1,1,1]\n" + "".join(
            f"y{n}: &b{n} [{', '.join(['*a' if n == 0 else f'*b{n - 1}'] * 8)}]\n" for n in range(8)), 0, "20,000"),
    ],
)  # fmt: skip
def test_invalid_documents_are_reported_with_their_line(text: str, line: int, words: str) -> None:
    """Broken files, duplicate keys, deep nesting and exploding aliases give one clear message."""
    with pytest.raises(SpecificationError) as raised:
        read_document(text, "run.yaml")
    (problem,) = raised.value.problems
    assert words in problem.message
    assert not line or problem.line == line
    assert str(raised.value).startswith("run.yaml")


def test_an_empty_file_has_no_keys() -> None:
    """Missing keys are reported by the code that needs them."""
    assert read_document("").plain == {}
    assert read_document("# nothing\n").plain == {}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_message(text: str) -> None:
    """Arbitrary text never raises an unexpected exception."""
    result: object
    try:
        result = read_document(text).plain
    except SpecificationError as error:
        result = str(error)
    assert isinstance(result, dict) or result


@pytest.mark.parametrize("name", example_names())
def test_the_example_specifications_are_read(name: str) -> None:
    """The bundled examples are valid YAML with sections."""
    root = read_document(example_text(name))
    assert isinstance(root.value, dict)
    assert {"model", "hardware"} <= root.value.keys()


VALUES = st.one_of(st.integers(0), st.booleans(), st.sampled_from(["bf16", "resnet50", "26B", "a word"]), st.none())
KEYS = st.from_regex(r"k[a-z_]{1,8}", fullmatch=True)


@given(
    st.recursive(VALUES, lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=4), max_leaves=12).filter(
        lambda made: isinstance(made, dict)
    )
)
def test_nested_groups_keep_their_values(group: dict[str, object]) -> None:
    """Groups of keys, however nested, are read with the values that were written."""
    assert read_document(_written(group)).plain == group


def _written(group: dict[str, object], indent: int = 0) -> str:
    return "\n".join(" " * indent + _pair(key, value, indent) for key, value in group.items())


def _pair(key: str, value: object, indent: int) -> str:
    if isinstance(value, dict):
        return f"{key}:\n{_written(value, indent + 2)}"
    return f"{key}: {'' if value is None else str(value).lower() if isinstance(value, bool) else value}"
