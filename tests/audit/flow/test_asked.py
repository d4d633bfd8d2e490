"""What conditions say of variables, in their branches and behind them."""

import pytest

from flyball_audit.flow.values import LOSS, ON_HOST, TENSOR, UNKNOWN, Value
from tests.audit.projects import module_of, value_of

_BRANCHES = """
import torch
from elsewhere import found

def run(number, nothing):
    loss = torch.nn.functional.mse_loss(torch.zeros(3).cuda(), torch.zeros(3).cuda())
    number = 0.5
    nothing = found()
    if {test}:
        holds({name})
    else:
        fails({name})
    behind({name})
"""


def _of(test: str, name: str, place: str) -> Value:
    project, module = module_of(_BRANCHES.format(test=test, name=name))
    (call,) = module.calls_named(place)
    return project.flow.value(module, call.args[0])._replace(made_by=None, made_at=None, literal=None)


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(nothing, torch.Tensor)", "torch.is_tensor(nothing)", "type(nothing) == torch.Tensor",
        "type(nothing) is torch.Tensor", "hasattr(nothing, 'item')",
    ],
)  # fmt: skip
def test_what_is_asked_to_be_a_tensor_is_one_where_it_holds(test: str) -> None:
    """Where it does not, it lies on the host; behind both, nothing more is known than before."""
    assert _of(test, "nothing", "holds") == TENSOR
    assert _of(test, "nothing", "fails") == ON_HOST
    assert _of(f"not {test}", "nothing", "holds") == ON_HOST
    assert _of(f"not {test}", "nothing", "fails") == TENSOR
    assert _of(f"{test} and nothing.any()", "nothing", "holds") == TENSOR
    assert _of(f"{test} and nothing.any()", "nothing", "fails") == UNKNOWN
    assert _of(f"{test} or nothing is None", "nothing", "holds") == UNKNOWN


def test_a_number_may_have_become_a_tensor_and_what_is_known_stays_known() -> None:
    """Sums start as numbers; a loss does not become less of one because somebody asks."""
    assert _of("isinstance(number, torch.Tensor)", "number", "holds") == TENSOR
    assert _of("isinstance(number, torch.Tensor)", "number", "behind") == ON_HOST
    assert _of("isinstance(loss, torch.Tensor)", "loss", "holds") == LOSS
    assert _of("isinstance(nothing, (int, float))", "nothing", "holds") == ON_HOST


@pytest.mark.parametrize("test", ["hasattr(nothing, 'mean')", "isinstance(nothing, list)", "type(nothing) == list"])
def test_other_questions_say_nothing(test: str) -> None:
    """Arrays have a mean too."""
    assert _of(test, "nothing", "holds") == UNKNOWN


def test_a_choice_in_one_expression_is_told_too() -> None:
    """`x.item() if torch.is_tensor(x) else x`."""
    project, module = module_of("import torch\ndef run(x=1.5):\n    return x.abs() if torch.is_tensor(x) else -x\n")
    assert value_of(project, module, "x.abs()") == TENSOR
    assert value_of(project, module, "-x") == ON_HOST
