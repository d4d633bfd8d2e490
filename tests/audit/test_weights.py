"""What becomes of an attention's weights."""

import ast

import pytest

from flyball_audit.module import Module
from flyball_audit.weights import attends, attends_and_returns, attends_unless_asked
from tests.audit.projects import module_of


def _function(body: str) -> tuple[Module, ast.FunctionDef]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    _, module = module_of(f"import torch\nfrom torch import einsum\ndef attention(self, w, v, m, flag):\n{lines}")
    function = next(each for each in module.tree.body if isinstance(each, ast.FunctionDef))
    return module, function


def _attends(body: str) -> bool:
    """Whether the softmax of a function only weighs values."""
    module, function = _function(body)
    weights = next(
        each for each in ast.walk(function) if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("softmax")
    )
    return attends(module, function, weights)


@pytest.mark.parametrize(
    "body",
    [
        "return torch.softmax(w, -1) @ v",
        "a = torch.softmax(w, -1)\nreturn a @ v",
        "a = torch.softmax(w, -1)\na = self.dropout(a)\nreturn torch.matmul(a, v)",
        "a = w.softmax(-1).to(v.dtype)\nreturn a.matmul(v)",
        "a = torch.softmax(w, -1)\nn = a.shape\nreturn torch.bmm(a, v)",
        "return einsum('b h i j, b h j d -> b h i d', torch.softmax(w, -1), v)",
    ],
)
def test_weights_that_only_multiply_values_attend(body: str) -> None:
    """Dropout, changes of type and questions of shape are looked through."""
    assert _attends(body)


@pytest.mark.parametrize(
    "body",
    [
        "a = torch.softmax(w, -1)\nreturn a @ v, a",
        "return torch.softmax(w, -1)",
        "a = torch.softmax(w, -1)\nself.kept = a\nreturn a @ v",
        "a = torch.softmax(w, -1)\nif flag:\n    a = a * m\nreturn a @ v",
        "return v @ torch.softmax(w, -1)",
        "a = torch.softmax(w, -1)\nlog(a.mean())\nreturn a @ v",
        "return einsum('b h i j, b g h -> b g i j', torch.softmax(w, -1), v)",
        "a = torch.softmax(w, -1)\nreturn v",
    ],
)
def test_weights_that_are_wanted_elsewhere_do_not(body: str) -> None:
    """A fused kernel never has them to give: returned, kept, logged, on the other side, or not used."""
    assert not _attends(body)


def test_a_variable_that_is_given_anew_ends_its_uses() -> None:
    """What is done with the name later concerns another value."""
    assert _attends("a = torch.softmax(w, -1)\ny = a @ v\na = y\nreturn a, y")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("s = softmax(w)\nif flag:\n    return s @ v, s\nreturn s @ v", True),
        ("s = softmax(w)\nout = s @ v\nreturn (out, s) if flag else out", True),
        ("s = softmax(w)\nreturn s @ v, s", False),
        ("if flag:\n    s = softmax(w)\n    return s @ v, s", False),
        ("s = softmax(w)\nif flag:\n    return s", False),
        ("s = softmax(w)\nif flag:\n    s = s * m\nreturn s @ v", True),
        ("self.s = softmax(w)\nreturn drop(self.s) @ v", True),
        ("self.s = softmax(w)\nlog(self.s)\nreturn self.s @ v", False),
    ],
)
def test_weights_may_be_handed_out_where_somebody_asks(body: str, *, found: bool) -> None:
    """A condition behind the softmax says that they are not always needed."""
    module, function = _function(body)
    calls = (each for each in ast.walk(function) if isinstance(each, ast.Call))
    weights = next(each for each in calls if ast.unparse(each.func) == "softmax")
    assert attends_unless_asked(module, function, weights) is found


def test_a_value_that_is_let_go_is_not_used_behind_that() -> None:
    """`a = None` under a condition: what is handed out then was asked for."""
    assert _attends("a = torch.softmax(w, -1)\ny = a @ v\nif flag:\n    a = None\nreturn y, a")


def test_the_other_arm_of_a_condition_is_another_value() -> None:
    """Which of two softmaxes is multiplied, the condition says: both attend."""
    body = "if flag:\n    a = torch.softmax(w, -1)\nelse:\n    a = torch.softmax(w + m, -1)\nreturn a @ v"
    module, function = _function(body)
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    assert [attends(module, function, each) for each in calls] == [True, True]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("s = softmax(w)\nreturn s @ v, s", True),
        ("s = softmax(w)\nout = s @ v\nreturn out, s.detach()", True),
        ("s = softmax(w)\nif flag:\n    log(s)\nreturn s @ v, m, drop(s)", True),
        ("s = softmax(w)\nout = s @ v\ns = s.view(2, 3).transpose(1, 0)\nreturn out, s", True),
        ("s = softmax(w)\nout = s @ v\ns = s.view(2, 3)\nlog(s)\nreturn out, s", False),
        ("s = softmax(w)\nlog(s)\nreturn s @ v, s", False),
        ("s = softmax(w)\nout = s @ v\nreturn s, out", False),
        ("s = softmax(w)\nout = s @ v\nreturn out, log(s)", False),
        ("s = softmax(w)\nout = s @ v\nkept = (out, s)\nreturn out", False),
        ("s = softmax(w)\nreturn v, s", False),
    ],
)
def test_weights_may_be_given_back_beside_what_they_weigh(body: str, *, found: bool) -> None:
    """As they are, dropped or detached; what is given first is what was wanted."""
    module, function = _function(body)
    calls = (each for each in ast.walk(function) if isinstance(each, ast.Call))
    weights = next(each for each in calls if ast.unparse(each.func) == "softmax")
    assert attends_and_returns(module, function, weights) is found
