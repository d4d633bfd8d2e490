"""Matrix products as attention writes them."""

import ast

import pytest

from flyball_planner.audit.module import Module
from flyball_planner.audit.products import attends, attends_unless_asked, multiplies
from tests.planner.audit.projects import module_of


def _function(body: str) -> tuple[Module, ast.FunctionDef]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    _, module = module_of(f"import torch\nfrom torch import einsum\ndef attention(self, q, k, v, w):\n{lines}")
    function = next(each for each in module.tree.body if isinstance(each, ast.FunctionDef))
    return module, function


def _multiplies(body: str) -> bool:
    """Whether what the last line assigns is a product with something transposed."""
    module, function = _function(body)
    last = function.body[-1]
    assert isinstance(last, ast.Assign)
    return multiplies(module, function, last.value)


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
        "s = q @ k.transpose(-2, -1)",
        "s = torch.matmul(q, k.transpose(1, 2))",
        "s = q.matmul(k.mT)",
        "s = torch.bmm(q, k.permute(0, 2, 1))",
        "s = q @ k.T",
        "k = k.transpose(-1, -2)\ns = q @ k",
        "k = k.permute(0, 2, 3, 1)\ns = q @ k",
        "s = einsum('b h i d, b h j d -> b h i j', q, k)",
        "s = torch.einsum('bhid,bhjd->bhij', q, k)",
    ],
)
def test_a_product_with_transposed_keys_is_one(body: str) -> None:
    """By operator, function, method or letters, transposed there or in a line above."""
    assert _multiplies(body)


@pytest.mark.parametrize(
    "body",
    [
        "s = q @ k",
        "s = q * k.transpose(-2, -1)",
        "k = k.transpose(1, 2)\ns = q @ k",
        "k = k.permute(0, 2, 1, 3)\ns = q @ k",
        "k = k.T\nk = f(k)\ns = q @ k",
        "s = torch.matmul(q, k.mT, v)",
        "s = einsum('b i d, b j e -> b i j', q, k)",
        "s = einsum('b i d, b d j -> b i j', q, k)",
        "s = einsum('b i d, b j d, b k d -> b i j k', q, k, v)",
        "s = einsum(equation, q, k)",
    ],
)
def test_other_products_are_not(body: str) -> None:
    """Nothing is transposed, or only to bring heads to the front; element by element; three at once; unknown."""
    assert not _multiplies(body)


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
        ("s = torch.bmm(q.permute(0, 2, 1), k)", True),
        ("q = q.permute(0, 2, 1)\ns = torch.bmm(q, k)", True),
        ("s = torch.bmm(q, k.permute(0, 2, 1))", False),
        ("s = q.mT @ k.mT", False),
        ("s = einsum('b i d, b j d -> b i j', q, k)", False),
    ],
)
def test_a_turned_product_has_its_first_operand_transposed(body: str, *, found: bool) -> None:
    """Networks of pictures keep channels first: qᵀ k instead of q kᵀ."""
    module, function = _function(body)
    last = function.body[-1]
    assert isinstance(last, ast.Assign)
    assert multiplies(module, function, last.value, turned=True) is found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("s = softmax(w)\nif flag:\n    return s @ v, s\nreturn s @ v", True),
        ("s = softmax(w)\nout = s @ v\nreturn (out, s) if flag else out", True),
        ("s = softmax(w)\nreturn s @ v, s", False),
        ("if flag:\n    s = softmax(w)\n    return s @ v, s", False),
        ("s = softmax(w)\nif flag:\n    return s", False),
    ],
)
def test_weights_may_be_handed_out_where_somebody_asks(body: str, *, found: bool) -> None:
    """A condition behind the softmax says that they are not always needed."""
    module, function = _function(body)
    calls = (each for each in ast.walk(function) if isinstance(each, ast.Call))
    weights = next(each for each in calls if ast.unparse(each.func) == "softmax")
    assert attends_unless_asked(module, function, weights) is found
