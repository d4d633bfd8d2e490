"""Conditions that hold once: what their branch makes, or switches off."""

import ast

import pytest

from flyball_audit.once import clears_its_flag, fills_what_is_missing


def _condition(code: str) -> ast.If:
    statement = ast.parse(code).body[0]
    assert isinstance(statement, ast.If)
    return statement


@pytest.mark.parametrize(
    "code",
    [
        "if self.shows: self.shows = False",
        "if log and first:\n    write(image)\n    first = None",
    ],
)
def test_a_branch_that_clears_what_it_was_entered_by_runs_once(code: str) -> None:
    """A flag that must hold, and is switched off inside, lets its branch run once."""
    assert clears_its_flag(_condition(code))


@pytest.mark.parametrize(
    "code",
    [
        "if self.shows: self.shows = True",
        "if self.shows: self.other = False",
        "if first or last: first = False",
        "if not first: first = False",
    ],
)
def test_a_branch_that_leaves_its_condition_holding_is_no_such_branch(code: str) -> None:
    """What stays on, another name, one of several ways in, and what must not hold, say nothing."""
    assert not clears_its_flag(_condition(code))


def test_what_a_branch_makes_it_makes_once() -> None:
    """A condition that asks for what is missing holds until its branch has made it."""
    assert fills_what_is_missing(_condition("if self.mask is None: self.mask = make()"))
    assert not fills_what_is_missing(_condition("if self.mask is None: self.other = make()"))
    assert fills_what_is_missing(_condition("if not hasattr(self, 'mask'): self.mask = make()"))
    assert not fills_what_is_missing(_condition("if not hasattr(): self.mask = make()"))
