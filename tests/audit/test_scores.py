"""How an attention's scores came about."""

import ast

import pytest

from flyball_audit.module import Function, Module
from flyball_audit.scores import MOST, is_biased, serves_else, sources
from tests.audit.projects import module_of


def _softmaxed(code: str) -> tuple[Module, Function, ast.expr]:
    """The softmax's argument, and where it stands."""
    _, module = module_of(f"import torch\n{code}")
    call = next(module.calls_named("softmax"))
    function = module.function_of(call)
    assert function is not None
    return module, function, call.args[0]


def _sources(code: str) -> list[str]:
    module, function, scores = _softmaxed(code)
    return [ast.unparse(each.node) for each in sources(module, function, scores)]


def test_scores_are_followed_through_scaling_masks_and_axes() -> None:
    """Assignments, sums, products with numbers, masks and changes of shape lead back to the product."""
    code = """
def attend(q, k, v, mask, scale):
    scores = q @ k.mT * scale
    scores = scores.view(2, 2) + mask
    scores = scores.masked_fill(mask, 0)
    return torch.softmax(scores, -1) @ v
"""
    assert "q @ k.mT" in _sources(code)


def test_scores_are_followed_to_the_calls_that_hand_them_over() -> None:
    """An argument is what the file's calls give under its name; other arguments are not it."""
    code = """
class Attention:
    def weigh(self, values, scores):
        return torch.softmax(scores, -1) @ values

    def forward(self, q, k, v):
        return self.weigh(v * 2, q @ k.mT)
"""
    assert _sources(code) == ["scores", "q @ k.mT"]


def test_following_ends() -> None:
    """A variable that is made of itself, and a function that calls itself, are followed once."""
    lines = "\n".join(f"    s = s + s * {each} + s" for each in range(200))
    assert len(_sources(f"def f(s):\n{lines}\n    return torch.softmax(s, -1)\n")) <= MOST
    assert _sources("def f(s):\n    f(s)\n    return torch.softmax(s, -1)\n") == ["s"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("s = s + self.position_bias", True),
        ("s += self.rel_table", True),
        ("s = add_relative_positions(s, q)", True),
        ("s = s + mask", False),
        ("s = s * bias", False),
        ("s = s", False),
    ],
)
def test_a_bias_is_added_and_named(change: str, *, found: bool) -> None:
    """By a sum, in place, or by a function that is called after it."""
    code = f"def f(self, q, k, mask, bias):\n    s = q @ k.mT\n    {change}\n    return torch.softmax(s, -1)\n"
    assert is_biased(*_softmaxed(code)) is found


@pytest.mark.parametrize(
    ("below", "found"),
    [
        ("return w.to(s.dtype)", False),
        ("return w.type_as(s)", False),
        ("return s.type_as(w)", True),
        ("return w, s", True),
        ("s = w\n    return s", False),
    ],
)
def test_scores_that_are_read_again_serve_else(below: str, *, found: bool) -> None:
    """Their type or shape may be asked for, and their name be given to something else."""
    code = f"def f(q, k):\n    s = q @ k.mT\n    w = torch.softmax(s, -1)\n    {below}\n"
    assert serves_else(*_softmaxed(code)) is found
