"""Reading TOML into values with lines."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_reports.specification.document import read_document
from flyball_reports.specification.problems import SpecificationError
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.toml_document import read_toml

TEXT = """# a training
title = "one"

[model]
name = "mlp"
layers = [
  512,
  256,
]
"a key" = {width = 1e3, on = true}
[hardware.own] # a table
when = 2026-01-02
"""


def inside(value: SourceValue, *names: str) -> SourceValue:
    """Return a value inside of others."""
    for name in names:
        assert isinstance(value.value, dict)
        value = value.value[name]
    return value


def test_values_and_lines_are_those_of_the_file() -> None:
    """Each value has the line of its key, or of the value around it."""
    root = read_document(TEXT, "run.toml")
    model = {"name": "mlp", "layers": [512, 256], "a key": {"width": 1000.0, "on": True}}
    assert root.plain == {"title": "one", "model": model, "hardware": {"own": {"when": "2026-01-02"}}}
    lines = {("title",): 2, ("model",): 4, ("model", "layers"): 6, ("model", "a key", "on"): 10}
    assert {path: inside(root, *path).line for path in lines} == lines
    assert inside(root, "hardware", "own", "when").line == 12


def test_long_lines_of_spaces_are_read_quickly() -> None:
    """A file from anyone cannot make the search for keys take longer than its length."""
    started = time.process_time()
    root = read_document("a = 1\n" + " " * 100_000 + "\nb" + " " * 100_000 + "\t= 2\n", "run.toml")
    assert inside(root, "b").line == 3
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\nb = \n", 2, "invalid value"),
        ("a = 1\na = 2\n", 2, "cannot overwrite a value"),
        ("a = [1,\n", 2, "not valid TOML"),
        ("a = " + "[" * 60 + "]" * 60, 0, "nested more than 20 levels deep"),
        ("a = [" + "1," * 20_001 + "]", 0, "more than 20,000 values"),
        ("a = " + "[" * 5_000, 0, "nested more than 20 levels deep"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_one_problem_with_its_line(text: str, line: int, words: str) -> None:
    """The message has the place in the file, and never a traceback."""
    with pytest.raises(SpecificationError) as raised:
        read_document(text, "run.toml")
    (problem,) = raised.value.problems
    assert words in problem.message
    assert problem.line == line


@given(st.text(alphabet="ab.=[]{}\"'#,\n 1t-_:", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any other exception than a fault of the file is an error."""
    with suppress(SpecificationError):
        assert isinstance(read_toml(text, "run.toml").value, dict)


def test_json_may_be_indented_with_tabs() -> None:
    """Tabs are allowed in JSON, and the lines stay."""
    root = read_document('{\n\t"model": {\n\t\t"name": "mlp"}}', "run.json")
    assert root.plain == {"model": {"name": "mlp"}}
    assert inside(root, "model", "name").line == 3
