"""What a value is taken for where the host may read it."""

import ast

import pytest

from flyball_audit.readings import SUPPOSED, is_buffer, number, somewhere, supposed
from flyball_audit.regions import Region
from tests.audit.projects import module_of

HEAD = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        self.register_buffer("begun", torch.tensor(False))
    def go(self, given, size: int):
        {code}
"""


def _asked(code: str) -> tuple[object, Region, ast.expr]:
    project, module = module_of(HEAD.format(code=code))
    statement = module.functions[-1].body[-1]
    assert isinstance(statement, ast.Expr)
    return project, Region(module, module.functions[-1]), statement.value


@pytest.mark.parametrize(
    ("code", "is_supposed"),
    [
        ("given.item()", True),
        ("given.cpu()", True),
        ("given.to('cpu')", True),
        ("given.detach().tolist()", True),
        ("torch.cat(given).item()", True),
        ("torch.cat(given).tolist()", True),
        ("given.to(device='cpu')", True),
        ("given.to(torch.device('cpu'))", True),
        ("given.tolist()", False),
        ("given.to('cuda')", False),
        ("size.item()", False),
        ("size.cpu()", True),
        ("size.detach().item()", True),
        ("given.detach().cpu().numpy().item()", False),
        ("torch.ones(3).item()", False),
        ("given.item(0)", False),
    ],
)
def test_what_only_tensors_are_asked_for_is_supposed_to_be_one(code: str, is_supposed: bool) -> None:
    """Where nothing is known of it; what is on the host does not wait, but is no number if it is moved or detached."""
    project, region, call = _asked(code)
    assert isinstance(call, ast.Call)
    assert (supposed(project, region, call) == SUPPOSED) is is_supposed  # type: ignore[arg-type]  # a project


@pytest.mark.parametrize(
    ("code", "is_supposed"),
    [
        ("torch.isnan(given)", True),
        ("given.any()", True),
        ("self.begun", True),
        ("given.any(1)", False),
        ("size > 3", False),
    ],
)
def test_truth_is_supposed_to_be_asked_of_a_tensor(code: str, is_supposed: bool) -> None:
    """Of what PyTorch computes, `.any()` and `.all()` of the unknown, and buffers."""
    project, region, node = _asked(code)
    assert (somewhere(project, region, node) == SUPPOSED) is is_supposed  # type: ignore[arg-type]  # a project


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("self.begun", True),
        ("self.begun % 10 == 0", True),
        ("self.begun.sum() == 0", True),
        ("self.begun.size()", False),
        ("self.begun is None", False),
        ("self.other", False),
    ],
)
def test_a_buffer_is_known_by_its_registration(code: str, is_one: bool) -> None:
    """Also where it is computed with, or compared; its size is known on the host."""
    _, region, node = _asked(code)
    assert is_buffer(region, node) is is_one


@pytest.mark.parametrize(("name", "is_supposed"), [("grad_norm", True), ("loss", True), ("loss_weight", False)])
def test_what_is_called_a_loss_or_norm_and_converted_is_supposed_to_be_a_tensor(name: str, is_supposed: bool) -> None:
    """Whoever converts it knows that it is no number."""
    project, region, node = _asked(f"{name} = given.take(); {name}")
    assert (number(project, region, node) == SUPPOSED) is is_supposed  # type: ignore[arg-type]  # a project
