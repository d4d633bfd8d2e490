"""YAML that is built to break readers gets a short message with its line, within seconds."""

import sys
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.specification.reader import read_specification
from flyball_reports.specification.document import MOST_CHARACTERS, read_document
from flyball_reports.specification.problems import SpecificationError
from flyball_reports.specification.source_value import SourceValue

ALMOST = MOST_CHARACTERS - 100
SECONDS = 10.0  # under a second on an idle machine
LONGEST_LINE = 400

REFUSED = {
    "lists in lists": ("[" * ALMOST, 1, "more than 20 levels deep"),
    "groups in groups": ("{a: " * (ALMOST // 4), 1, "more than 20 levels deep"),
    "block lists in block lists": ("- " * (ALMOST // 2), 1, "more than 20 levels deep"),
    "keys of keys": ("? " * (ALMOST // 2), 1, "a key must be text"),
    "indented groups": ("".join(f"{' ' * depth}a:\n" for depth in range(1000)), 22, "more than 20 levels deep"),
    "many values": ("a: [" + "1," * 400_000 + "1]", 1, "more than 20,000 values"),
    "many keys": ("".join(f"k{number}: 1\n" for number in range(30_000)), 20_000, "more than 20,000 values"),
    "aliases of aliases": (
        "a: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 9)),
        5,
        "more than 20,000 values",
    ),
    "an alias deep in others": (
        "a0: &a0 []\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 30)),
        21,
        "more than 20 levels deep",
    ),
    "an alias inside of itself": ("a: 1\nb: &a [1, *a]\n", 2, "the alias *a is inside the value"),
    "an alias of nothing": ("a: *b\n", 1, "the alias *b has no anchor &b before it"),
    "a merge": ("a: &a {b: 1}\nc:\n  <<: *a\n", 3, "merge keys (<<) are not supported"),
    "a merge bomb": (
        "a: &a0 {k: 1}\n" + "".join(f"b{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)),
        2,
        "merge keys (<<) are not supported",
    ),
    "a key twice": ("a: 1\nb: {c: 1, c: 2}\n", 2, "duplicate key 'c' (first on line 2)"),
    "a long key": (f'"{"k" * 900}": 1\n', 1, "a key has 900 characters"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, "a second document begins here"),
    "a control character": ("a: 1\nb: \0\n", 2, "control character U+0000"),
    "another version": ("%YAML 9.9\n---\na: 1\n", 1, "incompatible YAML"),
    "an unfinished text": ('"' + "a\n" * 400_000, 400_001, "unexpected end of stream"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_trap_is_refused_with_its_line(name: str) -> None:
    """Stack, memory and time are limited, and the only problem has a line and a short message."""
    text, line, words = REFUSED[name]
    begun = time.monotonic()
    with pytest.raises(SpecificationError) as raised:
        read_document(text)
    (problem,) = raised.value.problems
    assert words in problem.message
    assert problem.line == line
    assert len(problem.message) < LONGEST_LINE
    assert time.monotonic() - begun < SECONDS


VALUES = {
    "sexagesimal": ":".join(["1"] * 20_000),
    "sexagesimal with a fraction": ":".join(["1"] * 20_000) + ".5",
    "a minute and a half": "1:30",
    "decimal digits": "9" * 100_000,
    "hexadecimal digits": "0x" + "f" * 5_000,
    "octal digits": "0" + "7" * 50_000,
    "binary digits": "0b" + "1" * 100_000,
    "digits and a letter": '"' + "1" * 400_000 + 'z"',
    "underscores": "1_" * 300_000 + "k",
    "a huge exponent": "1.0e+" + "9" * 5_000,
    "infinity": ".inf",
    "negative infinity": "-.inf",
    "not a number": ".nan",
    "a date": "2026-01-02",
    "a date that does not exist": "9999-99-99",
    "a time zone that does not exist": "2001-12-14t21:59:43.10-99:99",
    "!!int of a word": "!!int abc",
    "!!int of nothing": "!!int ''",
    "!!int of a sign": "!!int '-'",
    "!!int of a colon": "!!int ':'",
    "!!float of nothing": "!!float ''",
    "!!bool of a word": "!!bool abc",
    "!!timestamp of a word": "!!timestamp abc",
    "!!binary that is none": "!!binary '==='",
    "!!python": "!!python/object/apply:os.system [id]",
    "!!set": "!!set {a, b}",
    "a list": "[1, 2]",
    "a group": "{a: 1}",
    "a long text": "x" * 900_000,
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_is_not_a_number_is_reported_where_one_is_expected(name: str) -> None:
    """Whatever YAML makes of a value, the message has its line, its key and a short form of it."""
    text = f"model: gpt2\nhardware: RTX_4090_fp16\ntraining:\n  batch_size: 8\n  steps: {VALUES[name]}\n"
    begun = time.monotonic()
    with pytest.raises(SpecificationError) as raised:
        read_specification(text, "run.yaml")
    problem = raised.value.problems[0]
    assert problem.line == 5
    assert problem.key.startswith("training.steps")
    assert len(str(raised.value)) < LONGEST_LINE
    assert time.monotonic() - begun < SECONDS


def test_names_that_do_not_exist_are_shortened() -> None:
    """A long name of a model or of a key is quoted by its beginning."""
    long = "x" * 900
    with pytest.raises(SpecificationError) as raised:
        read_specification(f"model: {long}\nhardware: RTX_4090_fp16\n{'k' * 150}: 1\n")
    assert max(map(len, str(raised.value).splitlines())) < LONGEST_LINE


def test_many_problems_are_listed_in_part() -> None:
    """A hundred problems are listed, and the rest are counted with the line of the next one."""
    text = "".join(f"k{number}: 1\n" for number in range(5000))
    with pytest.raises(SpecificationError) as raised:
        read_specification(text)
    listed = raised.value.problems
    assert len(listed) == 101
    assert listed[-1].message.startswith("4,9")
    assert listed[-1].line > listed[-2].line


LEAVES = st.one_of(
    st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    st.from_regex(r"[-+]?[0-9_:.]{1,20}", fullmatch=True),
    st.sampled_from(
        [".inf", "0x", "0b", "0o7", "1e5", "~", "yes", "<<", "*a", "&a b", "!!int", "!!bool x", "2026-01-02"]
    ),
)


@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LEAVES, inner, max_size=3)))
def test_any_flow_of_values_is_read_or_refused(tree: object) -> None:
    """Numbers, tags, anchors and nesting in any combination give values or messages, never another exception."""
    text = f"a: {_flow(tree)}\nb: 1\n"
    try:
        found: object = read_document(text).plain
    except SpecificationError as error:
        found = str(error)
    assert isinstance(found, dict) or found


def _flow(tree: object) -> str:
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key}: {_flow(value)}" for key, value in tree.items()) + "}"
    return "[" + ", ".join(map(_flow, tree)) + "]" if isinstance(tree, list) else str(tree)


SCALARS = st.none() | st.booleans() | st.integers(-(10**50), 10**50) | st.floats(allow_nan=False) | st.text(max_size=30)


@given(
    st.dictionaries(st.text(min_size=1, max_size=20), st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3)))
)
def test_what_yaml_writes_is_read_as_written(values: dict[str, object]) -> None:
    """Values that a YAML library writes are read as the same values, except for infinite numbers and dates."""
    values = {key: value for key, value in values.items() if key != "<<"}
    assert read_document(yaml.safe_dump(values)).plain == values


def test_messages_of_huge_numbers_need_no_digits_limit() -> None:
    """A number with hundreds of digits stays text, because Python limits the digits that it converts."""
    text = "9" * (sys.get_int_max_str_digits() + 1)
    assert read_document(f"a: {text}\n").plain == {"a": text}
    assert len(SourceValue(text, 1).description()) < 100
