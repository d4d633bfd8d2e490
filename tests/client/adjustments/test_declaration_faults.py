"""Tests of the words for a wrong declaration."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

from flyball.adjustments.declaration_faults import fault_of
from flyball.adjustments.run_adjustments import MAX_VALUES
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent

Opened = Callable[..., tuple[AdjustingAgent, Run]]


@pytest.mark.parametrize(
    ("name", "initial", "options", "fault"),
    [
        ("", 1, {}, "it has no name"),
        ("pause", 1, {}, "every run has a value with this name"),
        ("calls", 1, {"when": "epochs"}, "when='epochs': expected step, epoch or restart"),
        ("calls", 1, {"safety": 5}, "safety=5: expected 1, 2, 3 or 4"),
        ("calls", 1, {"choices": "123"}, "choices='123': expected a list or tuple of values"),
        ("calls", 1, {"choices": 3}, "choices=3: expected a list or tuple of values"),
        ("calls", 1, {"choices": range(100)}, "it has more than 64 choices"),
        ("calls", 1, {"choices": count()}, "it has more than 64 choices"),
        ("calls", 1, {"choices": [1] * 64 + [2]}, "it has more than 64 choices"),
        ("calls", 1, {"choices": [1] * 64 + [2, 3]}, "it has more than 64 choices"),
        ("calls", 65, {"choices": range(64)}, "it has more than 64 choices with the first value"),
        ("calls", 1, {"choices": (1, float("nan"))}, "the choice nan: expected true or false, a finite number, or"),
        ("calls", None, {"choices": (1, 2)}, "the first value is None: expected true or false"),
        ("calls", "x" * 91, {}, f"the first value is '{'x' * 59}…: expected"),
        ("calls", 1, {"facts": 7}, "facts or lever are not texts"),
    ],
)
def test_the_fault_of_a_declaration_is_named(
    adjusted: Opened, name: str, initial: Any, options: dict[str, Any], fault: str
) -> None:
    """The warning states what is wrong and what was expected, at the line of the declaration."""
    _, run = adjusted()
    with pytest.warns(UserWarning, match="cannot be adjusted") as found:
        value = run.value(name, initial, **options)
    assert f"{name!r} cannot be adjusted: {fault}" in str(found[0].message)
    assert found[0].filename == __file__
    assert (value.now, run.dropped) == (initial, 1)


@pytest.mark.parametrize(
    ("choices", "expected"), [((1, 2, 1), [1, 2]), ((True, 1, 1.0, False), [True, 1, False]), ((1,), [1])]
)
def test_each_choice_is_announced_once(adjusted: Opened, choices: Iterable[Any], expected: list[Any]) -> None:
    """Choices that are written twice are one, and true is not 1. A single choice leaves nothing to change."""
    agent, run = adjusted()
    run.value("calls", 1, choices=choices)
    run.step()
    found = agent.values()["calls"]
    assert [(each, type(each)) for each in found["choices"]] == [(each, type(each)) for each in expected]
    assert found["blocked"] == ("only_choice" if len(expected) == 1 else "")


def test_a_value_too_many_is_named(adjusted: Opened) -> None:
    """An agent accepts so many values of a rank; one more is counted, and stays as it is."""
    _, run = adjusted()
    for number in range(MAX_VALUES - 2):  # every run has two
        run.value(f"value-{number}", 1, choices=(1, 2))
    assert run.dropped == 0
    with pytest.warns(UserWarning, match="'another' cannot be adjusted: too many values"):
        run.value("another", 1, choices=(1, 2))
    assert run.dropped == 1


def test_a_fault_that_is_not_known_has_words_too() -> None:
    """Whatever is wrong, the warning is a sentence."""
    assert fault_of("calls", 1, {"when": "step", "safety": 1, "choices": ()}) == "facts or lever are not texts"
