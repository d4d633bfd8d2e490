"""Counters that a condition starts anew, and what it guards then."""

import ast

import pytest

from flyball_audit.counters import starts_anew, updates
from tests.audit.projects import module_of


def _block(test: str, body: str, counting: str = "seen += 1") -> ast.If | None:
    lines = "".join(f"            {each}\n" for each in body.split("; "))
    _, module = module_of(f"def fit(loader):\n    for x in loader:\n        {counting}\n        if {test}:\n{lines}")
    return starts_anew(module, module.all(ast.If)[0].test)


@pytest.mark.parametrize("body", ["show(); seen = 0", "seen %= every", "seen -= every"])
def test_a_counter_that_is_set_back_behind_its_bound_is_a_period(body: str) -> None:
    """Set to a constant, reduced by the bound, or to the remainder."""
    assert _block("seen >= every", body) is not None


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("step >= due", "due += every"),
        ("step > self.due", "show(); self.due = step + every"),
        ("step - shown >= every", "shown = step; show()"),
        ("time.time() - shown > 5", "shown = time.time()"),
    ],
)
def test_a_bound_that_moves_on_is_a_period(test: str, body: str) -> None:
    """By so much, to so much from now; or what was counted when it last held is kept."""
    assert _block(test, body) is not None


@pytest.mark.parametrize(
    ("test", "body", "counting"),
    [
        ("step >= due", "due -= every", "step += 1"),
        ("step >= due", "other += every; other = step + every; due = other", "step += 1"),
        ("step >= bounds[0]", "bounds[0] += every", "step += 1"),
        ("step - shown >= every", "shown = other; other = step", "step += 1"),
        ("step + shown >= every", "shown = step", "step += 1"),
        ("step <= due", "due += every", "step += 1"),
        ("seen >= every", "show()", "seen += 1"),
        ("seen >= every", "seen = 0", "seen = len(x)"),
        ("seen < every", "seen = 0", "seen += 1"),
        ("seen >= every", "other = 0", "seen += 1"),
        ("seen >= every and x", "seen = 0", "seen += 1"),
        ("0 < seen < every", "seen = 0", "seen += 1"),
    ],
)
def test_without_counting_bound_or_start_there_is_no_period(test: str, body: str, counting: str) -> None:
    """A warm-up ends once, what is not counted grows by itself, below a bound is nearly always."""
    held = _block(test, body, counting)
    assert held is None


@pytest.mark.parametrize(
    ("body", "stepping"),
    [
        ("optimizer.step(); seen = 0", True),
        ("model.zero_grad(); seen = 0", True),
        ("scheduler.step(score); seen = 0", False),
    ],
)
def test_an_optimizer_behind_the_bound_means_micro_steps(body: str, stepping: bool) -> None:
    """A schedule's step is none of the optimizer's."""
    block = _block("seen >= every", body)
    assert block is not None
    assert updates(block) is stepping
