"""Periods that a setting gives, and that may be each step."""

import ast

import pytest

from flyball_audit.module import last_name
from flyball_audit.periods import may_be_each_turn
from flyball_audit.regions import Region
from tests.audit.projects import module_of


def _may_be(head: str, test: str, body: str = "mark()") -> bool:
    loop = f"    for step in loader:\n        if {test}:\n            {body}\n"
    project, module = module_of(f"import torch\n{head}\ndef fit(args, net, optimizer, loader):\n{loop}")
    call = next(each for each in module.all(ast.Call) if last_name(each) == "mark")
    region = Region(module, module.loops[0])
    return may_be_each_turn(project, (region,), region, call)


@pytest.mark.parametrize(
    ("head", "each"),
    [
        ("parser.add_argument('--n-critic', type=int, default=1)", True),
        ("parser.add_argument('--n-critic', type=int, default=5)", False),
        ("def options(n_critic=1): ...", True),
        ("def options(*, n_critic=5): ...", False),
        ("class Options:\n    n_critic: int = 1", True),
        ("n_critic = 5", False),
        ("options = dict(n_critic=1)", True),
        ("", False),
    ],
)
def test_a_period_whose_default_is_one_is_each_step(head: str, each: bool) -> None:
    """Wherever the default stands: on a command line, in a function, a class, a table."""
    assert _may_be(head, "step % args.n_critic == 0") is each


def test_a_period_of_training_itself_may_be_each_step() -> None:
    """Nobody reports where a backward pass stands."""
    assert _may_be("", "step % args.n_critic == 0", "loss.backward(); mark()")


def test_a_flag_is_followed_to_the_period_that_it_was_given() -> None:
    """`due = not step % every` is the period."""
    head = "def options(every=1): ..."
    project, module = module_of(
        f"{head}\ndef fit(self, loader):\n    for step in loader:\n        due = not step % self.every\n"
        "        if due:\n            mark()\n"
    )
    call = next(each for each in module.all(ast.Call) if last_name(each) == "mark")
    region = Region(module, module.loops[0])
    assert may_be_each_turn(project, (region,), region, call)


def test_without_a_period_there_is_none_to_be_one() -> None:
    """A rare event is none."""
    assert not _may_be("", "args.debug")


def test_what_stands_behind_the_same_period_as_all_steps_runs_in_each_step() -> None:
    """If nothing trains between two turns of a period, the step is what it thins out."""
    step = "loss.backward(); optimizer.step(); mark()"
    assert _may_be("n_critic = 5", "step % args.n_critic == 0", step)
    assert _may_be("", "step % 5 == 0", step)
    assert not _may_be("", "step % 5 == 0", f"{step}\n        loss.backward()")
    assert _may_be("", "step % 5 == 0", "loss.backward(); mark()\n        optimizer.step()")


@pytest.mark.parametrize(("test", "each"), [("step % 2 == 0", True), ("not step % 3", True), ("step % 9 == 0", False)])
def test_networks_that_take_turns_are_trained_every_few_steps(test: str, each: bool) -> None:
    """A short period is no report's if a backward pass stands there."""
    assert _may_be("", test, "loss.backward(); mark()\n        other.backward()") is each
    assert not _may_be("", test, "mark()\n        other.backward()")
