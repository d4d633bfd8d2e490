"""Loops that an argument makes train or only evaluate are known, with the calls that have them evaluate."""

import ast

import pytest

from flyball_audit.shared_loops import evaluating_calls, switch_of
from tests.audit.projects import module_of


def _told(arguments: str, condition: str, calls: str) -> list[str] | None:
    """The calls that evaluate; None if there is no switch."""
    project, module = module_of(
        f"import torch\ndef run(model, loader, optimizer, {arguments}):\n    for batch in loader:\n"
        f"        loss = model(batch).mean()\n        if {condition}:\n            loss.backward()\n"
        f"            optimizer.step()\n{calls}\n"
    )
    (turns,) = project.loops.training_of(module)
    switch = switch_of(project, turns)
    if switch is None:
        return None
    return [ast.unparse(call) for _, call in evaluating_calls(project, turns, switch)]


@pytest.mark.parametrize(
    ("arguments", "condition", "call", "evaluates"),
    [
        ("train=True", "train", "run(m, l, o, train=False)", True),
        ("train=True", "train", "run(m, l, o, False)", True),
        ("train=True", "train", "run(m, l, o)", False),
        ("*, train=False", "train", "run(m, l, o)", True),
        ("scaler=None", "scaler is not None", "run(m, l, o)", True),
        ("scaler=None", "scaler is not None", "run(m, l, o, scaler)", False),
        ("train=True", "train", "run(m, l, o, **more)", False),
    ],
)
def test_a_call_evaluates_if_it_says_so(arguments: str, condition: str, call: str, evaluates: bool) -> None:
    """By a constant, or by the default; what is computed or hidden is unknown."""
    assert _told(arguments, condition, call) == ([call] if evaluates else [])


@pytest.mark.parametrize("condition", ["loss > 3", "self.train", "not train", "train and loss > 3"])
def test_other_conditions_are_no_switch(condition: str) -> None:
    """An argument alone decides, for the whole loop."""
    assert _told("train=True", condition, "run(m, l, o, False)") is None
