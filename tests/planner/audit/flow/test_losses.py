"""A loss is what `.backward()` is called on, or handed to."""

import pytest

from flyball_planner.audit.flow.losses import backward_names
from tests.planner.audit.projects import module_of


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("loss.backward()", {"loss"}), ("(loss / 4).backward()", {"loss"}), ("self.total.backward()", {"total"}),
        ("accelerator.backward(error)", {"error"}), ("scaler.scale(loss).backward()", {"loss"}),
        ("loss.backward(gradient)", {"loss"}), ("self.manual_backward(loss)", {"loss"}), ("loss.item()", set()),
    ],
)  # fmt: skip
def test_the_name_behind_a_backward_pass_is_found(code: str, names: set[str]) -> None:
    """Scaled, divided, an attribute, or in the hands of a runner."""
    _, module = module_of(code)
    assert set(backward_names(module)) == names
