"""A loss is what `.backward()` is called on, or handed to; a network is asked for parameters, or evaluates."""

import pytest

from flyball_audit.flow.losses import backward_names, loss_names, model_names
from tests.audit.projects import module_of


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("loss.backward()", {"loss"}), ("(loss / 4).backward()", {"loss"}), ("self.total.backward()", {"total"}),
        ("accelerator.backward(error)", {"error"}), ("scaler.scale(loss).backward()", {"loss"}),
        ("loss.backward(gradient)", {"loss"}), ("self.manual_backward(loss)", {"loss"}), ("loss.item()", set()),
        ("self._fabric.backward(error)", {"error"}), ("self._accelerator.backward(error)", {"error"}),
        ("loss.mean().backward()", {"loss"}), ("torch.sum(losses).backward()", {"losses"}),
        ("mse_loss(output, target).backward()", set()),
    ],
)  # fmt: skip
def test_the_name_behind_a_backward_pass_is_found(code: str, names: set[str]) -> None:
    """Scaled, divided, an attribute, or in the hands of a runner."""
    _, module = module_of(code)
    assert set(backward_names(module)) == names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("Adam(actor.parameters())", {"actor"}), ("self.critic.eval()", {"critic"}),
        ("frame.eval('a + b')", set()), ("parameters()", set()), ("list(a.b.named_parameters())", {"b"}),
    ],
)  # fmt: skip
def test_a_network_is_told_by_what_is_asked_of_it(code: str, names: set[str]) -> None:
    """Of its parameters, or that it evaluate; a call with arguments is another's."""
    _, module = module_of(code)
    assert set(model_names(module)) == names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("loss = policy_loss + 0.5 * self.value_loss - bonus", {"loss", "policy_loss", ".value_loss"}),
        ("loss = loss_weight * loss_fn(x) + main_loss / n", {"loss", "main_loss"}),
        ("other = policy_loss + value_loss", {"loss"}),
        ("loss = policy_loss", {"loss"}),
    ],
)
def test_losses_that_are_added_up_to_one_are_losses(code: str, names: set[str]) -> None:
    """Not what they are weighed with, nor what is added up to something else."""
    _, module = module_of(f"{code}\nloss.backward()\n")
    assert loss_names(module) == names | {".loss"}
