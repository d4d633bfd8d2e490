"""Optimizers by name."""

import pytest

from flyball_planner.optimizers import OPTIMIZERS, find_optimizer
from flyball_reports.errors import UnknownName


@pytest.mark.parametrize(
    ("spelled", "name"),
    [("AdamW", "adamw"), ("PagedAdamW8bit", "adamw-8bit-paged"), ("SGD momentum", "sgd-momentum"), ("lion", "lion")],
)
def test_usual_spellings_are_found(spelled: str, name: str) -> None:
    """Hyphens, blanks and capitals do not matter."""
    assert find_optimizer(spelled) is OPTIMIZERS[name]


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    """The message names what was probably meant."""
    with pytest.raises(UnknownName, match="adamw"):
        find_optimizer("adamww")


def test_an_optimizer_in_the_backward_pass_has_no_step() -> None:
    """It needs no temporaries of all parameters at once."""
    found = find_optimizer("adamw", in_backward=True)
    assert found.in_backward
    assert found.transient_bytes == 0
