"""Specifications with extreme and wrong values are read, or refused with messages."""

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.specification.example_files import example_names, example_text
from flyball_planner.specification.reader import read_specification
from flyball_reports.errors import InputError
from flyball_reports.specification.problems import SpecificationError

EXAMPLES = [yaml.safe_load(example_text(name)) for name in example_names()]
EXTREME = st.sampled_from(
    [0, -1, 1e308, -1e308, 1e-308, float("inf"), float("nan"), 2**63, 10**30, "9" * 200, "1e400", "1:30", "0x10",
     "", None, True, [], {}, [[1]], {"a": 1}, "a word", [1e9], 1e15, "-0"]
)  # fmt: skip


@given(st.data())
def test_extreme_values_give_messages(data: st.DataObject) -> None:
    """Up to three values of an example are replaced; whatever they are, no other exception is raised."""
    document = copy.deepcopy(data.draw(st.sampled_from(EXAMPLES)))
    for _ in range(data.draw(st.integers(1, 3))):
        _replace(document, data)
    message = "read"
    try:
        read_specification(yaml.safe_dump(document))
    except InputError as error:
        message = str(error)
    assert 0 < len(message) < 5000


def _replace(group: Any, data: st.DataObject) -> None:
    """Replace one value of a group, or of a group inside of it."""
    key = data.draw(st.sampled_from(sorted(group) if isinstance(group, dict) else range(len(group))))
    inner = group[key]
    if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
        _replace(inner, data)
    else:
        group[key] = data.draw(EXTREME)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("{name: resnet50, n: 1000, epochs: 1.0e+308}", "epochs: is not a number up to 1e+15; expected a number"),
        ("{name: linear_regression_normal, n: 1000, p: 1.0e+308}", "p: is not a number up to 1e+15"),
    ],
)
def test_numbers_that_would_overflow_are_refused(model: str, words: str) -> None:
    """The message has the line, the key and the largest number."""
    with pytest.raises(SpecificationError) as raised:
        read_specification(f"hardware: RTX_4090_fp16\nmodel: {model}\n", "run.yaml")
    assert "run.yaml:2: model." in str(raised.value)
    assert words in str(raised.value)
