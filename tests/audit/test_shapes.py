"""Tensors that are the same in each call, as long as the shapes are."""

import ast
from textwrap import indent

import pytest

from flyball_audit.module import Function, Module
from flyball_audit.project import Project
from flyball_audit.shapes import DEEPEST, assigned_before, follows_from_shapes, is_kept
from tests.audit.projects import module_of


def _forward(body: str, decorator: str = "") -> tuple[Project, Module, ast.FunctionDef]:
    """The `forward` of a module, whose body ends in `return mask`."""
    forward = f"{decorator}\ndef forward(self, x):\n    n = x.shape[1]\n{indent(body, '    ')}\n    return mask\n"
    project, module = module_of(
        f"import functools\nimport torch\nclass Net(torch.nn.Module):\n{indent(forward, '    ')}"
    )
    function = next(each for each in ast.walk(module.tree) if isinstance(each, ast.FunctionDef))
    return project, module, function


def _follows(body: str) -> bool:
    project, module, function = _forward(body)
    last = function.body[-1]
    assert isinstance(last, ast.Return)
    assert last.value is not None
    return follows_from_shapes(project.flow, module, last.value)


@pytest.mark.parametrize(
    "body",
    [
        "mask = torch.tril(torch.ones(n, n))",
        "mask = torch.ones(x.shape[1], x.size(1), device=x.device).tril().bool()",
        "mask = torch.full((n, n), float('-inf')).triu(1)",
        "i = torch.arange(n)\nmask = i[:, None] >= i[None, :]",
        "mask = ~torch.ones_like(x).bool()",
        "mask = x.new_zeros(n)",
        "mask = 1 - torch.eye(n)",
        "rows, mask = n, torch.ones(n)",
        "mask = torch.logical_or(torch.ones(n), torch.zeros(n))[None]",
    ],
)
def test_a_tensor_of_shapes_and_constants_is_the_same_in_each_call(body: str) -> None:
    """Through methods, operators, indices and variables; of another tensor only its shape may be borrowed."""
    assert _follows(body)


@pytest.mark.parametrize(
    "body",
    [
        "mask = x > 0",
        "mask = torch.ones(n) * x",
        "mask = torch.rand(n, n)",
        "mask = torch.ones(n).bernoulli()",
        "mask = torch.full_like(x, x.sum())",
        "mask = torch.where(x > 0, torch.ones(n), torch.zeros(n))",
        "mask = self.mask",
        "mask = numpy.ones(n)",
        "for mask in masks:\n    pass",
        "mask = n + 1",
        "mask = self.make(n)",
        "mask, other = masks",
    ],
)
def test_a_tensor_of_data_or_chance_is_not(body: str) -> None:
    """Nor is what comes from elsewhere, of which nothing is known."""
    assert not _follows(body)


def test_only_so_many_assignments_are_followed_back() -> None:
    """A long chain ends unknown, and so does a variable that is made of itself."""
    chain = "\n".join(["a0 = torch.ones(3)", *(f"a{i + 1} = a{i}" for i in range(DEEPEST + 1))])
    assert not _follows(f"{chain}\nmask = a{DEEPEST + 1}")
    assert _follows("a = torch.ones(3)\nb = a\nmask = b")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("mask = 1\nmask = 2", "2"),
        ("mask, b = 1, 2", "1"),
        ("mask, b = pair", "None"),
        ("b = 3", "None"),
        ("def inner():\n    mask = 3", "None"),
    ],
)
def test_the_last_assignment_above_counts(body: str, found: str) -> None:
    """In the same function; of a pair, its own part."""
    _, module, function = _forward(body)
    last = function.body[-1]
    assert isinstance(last, ast.Return)
    assert isinstance(last.value, ast.Name)
    given = assigned_before(module, last.value)
    assert (ast.unparse(given) if given is not None else "None") == found


@pytest.mark.parametrize(
    ("body", "decorator", "kept"),
    [
        ("mask = torch.ones(n)", "", False),
        ("mask = self.mask = torch.ones(n)", "", True),
        ("masks[n] = mask = torch.ones(n)", "", True),
        ("mask = self.register_buffer('mask', torch.ones(n))", "", True),
        ("setattr(self, 'mask', torch.ones(n))", "", True),
        ("mask = torch.ones(n)", "@functools.lru_cache", True),
    ],
)
def test_what_is_kept_is_made_once(body: str, decorator: str, kept: bool) -> None:
    """In an attribute, a table, a buffer or a cache."""
    _, module, function = _forward(body, decorator)
    made = next(each for each in ast.walk(function) if isinstance(each, ast.Call) and "ones" in ast.unparse(each.func))
    assert isinstance(function, Function)
    assert is_kept(module, made, function) is kept


def test_an_assignment_below_does_not_count() -> None:
    """What a variable is given later, it was not when it was read."""
    _, module, function = _forward("mask = 1\nuse(mask)\nmask = 2")
    read = next(each.args[0] for each in ast.walk(function) if isinstance(each, ast.Call))
    assert isinstance(read, ast.Name)
    given = assigned_before(module, read)
    assert given is not None
    assert ast.unparse(given) == "1"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def run(size):\n    size = 2\n    return size\n", "2"),
        ("def run(size=None):\n    if size is None:\n        size = 2\n    return size\n", None),
        ("def run(other):\n    if other:\n        size = 2\n    return size\n", "2"),
        ("size = 3\ndef run():\n    return size\n", None),
        ("def run():\n    size, other = 2, 3\n    return size\n", "2"),
        ("def run():\n    size = 2\n    other, more = 3, 4\n    return size\n", "2"),
    ],
)
def test_an_argument_keeps_what_it_was_handed(code: str, found: str | None) -> None:
    """A default under a condition does not tell what an argument is; an assignment to it, or of a variable, does."""
    _, module = module_of(code)
    read = next(each.value for each in ast.walk(module.tree) if isinstance(each, ast.Return))
    assert isinstance(read, ast.Name)
    given = assigned_before(module, read)
    assert (None if given is None else ast.unparse(given)) == found
