"""Passes that autograd records, and of which nothing is differentiated."""

import ast

import pytest

from flyball_audit.outcomes import leaves
from flyball_audit.passes import loop_around, recorded_passes
from flyball_audit.regions import Region
from tests.audit.projects import module_of

BEGIN = "import torch\nfrom torch import nn\nmodel = nn.Linear(3, 3).cuda()\n"


def _region(body: str, head: str = "def use(x, keep):") -> Region:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    _, module = module_of(f"{BEGIN}{head}\n{lines}")
    return Region(module, module.functions[-1])


def _leaves(body: str) -> bool:
    region = _region(body)
    call = next(each for each in region.all(ast.Call) if ast.unparse(each.func) == "model")
    return leaves(region, call)


@pytest.mark.parametrize(
    "body",
    [
        "return model(x).detach().cpu().numpy()",
        "y = torch.tanh(model(x))\nkeep.append(y.detach())",
        "n = 0\nfor part in x:\n    n += (model(part) == part).sum().item()\nreturn n",
        "y = model(x)\nprint(y.shape)\nreturn y.tolist()",
        "y = model(x)\ny = y.detach()\nreturn y",
        "a, b = model(x)\na, b = a.detach(), b.detach()\nreturn a + b",
        "parts = model(x)\nparts = [each.data.cpu() for each in parts]\nreturn [each for each in parts]",
    ],
)
def test_what_is_only_read_or_detached_leaves(body: str) -> None:
    """No history goes anywhere."""
    assert _leaves(body)


@pytest.mark.parametrize(
    "body",
    [
        "return model(x)",
        "y = model(x)\nkeep.append(y)\nreturn y.detach()",
        "y = model(x)\nself.y = y\nprint(y.item())",
        "y = model(x)\nz = y * 2\nprint(y.item())\nreturn z",
        "keep(model(x))",
        "y = model(x)\nyield y\nprint(y.item())",
    ],
)
def test_what_is_given_back_or_kept_does_not_leave(body: str) -> None:
    """Somebody may differentiate it."""
    assert not _leaves(body)


def test_a_pass_is_recorded_unless_something_turns_history_off() -> None:
    """Contexts and decorators that may do so, unknown ones too."""
    project, module = module_of(BEGIN + "def use(x):\n    return model(x)\n")
    assert [*recorded_passes(project, Region(module, module.functions[-1]))]
    for head in ("@torch.no_grad()\n", "@unknown\n"):
        project, module = module_of(f"{BEGIN}{head}def use(x):\n    return model(x)\n")
        assert not [*recorded_passes(project, Region(module, module.functions[-1]))]


def test_the_loop_around_a_call_is_of_its_own_function() -> None:
    """The nearest one; none beyond the function."""
    region = _region("for a in x:\n    while a:\n        model(a)")
    call = next(region.all(ast.Call))
    assert isinstance(loop_around(region.module, call), ast.While)
