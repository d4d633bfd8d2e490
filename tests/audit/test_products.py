"""Matrix products as attention writes them."""

import ast

import pytest

from flyball_audit.module import Module
from flyball_audit.products import multiplies, multiplies_named, multiplies_places
from tests.audit.projects import module_of


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


@pytest.mark.parametrize(
    "body",
    [
        "s = q @ k.transpose(-2, -1)",
        "s = torch.matmul(q, k.transpose(1, 2))",
        "s = q.matmul(k.mT)",
        "s = torch.bmm(q, k.permute(0, 2, 1))",
        "s = q @ k.T",
        "s = torch.matmul(q / 2, k.transpose(-1, -2) / 2)",
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
        ("q = q.view(2, 3, -1).permute(0, 2, 1)\ns = torch.bmm(q, k)", True),
        ("q = q.flatten(2).transpose(-2, -1)\ns = q @ k", True),
        ("s = q.reshape(b, c, h * w).transpose(-2, -1) @ k", True),
        ("q = q.permute(0, 2, 1)\ns = torch.bmm(q, k)", False),
        ("q = q.view(2, 3, 4).permute(0, 2, 1)\ns = torch.bmm(q, k)", False),
        ("q = q.view(2, 3, -1)\ns = torch.bmm(q, k)", False),
    ],
)
def test_a_product_of_places_turns_what_was_made_one_axis(body: str, *, found: bool) -> None:
    """Only where rows and columns are seen to have become the last axis is a turned product one between places."""
    module, function = _function(body)
    last = function.body[-1]
    assert isinstance(last, ast.Assign)
    assert multiplies_places(module, function, last.value) is found


@pytest.mark.parametrize(
    ("product", "found"), [("q @ k", True), ("k @ q", False), ("q @ v", False), ("q @ k.mT", False), ("q * k", False)]
)
def test_arguments_may_be_queries_and_keys_by_their_names(product: str, *, found: bool) -> None:
    """Both have to be arguments, in their order, as they came."""
    _, function = _function(f"s = {product}")
    last = function.body[-1]
    assert isinstance(last, ast.Assign)
    assert multiplies_named(function, last.value) is found
