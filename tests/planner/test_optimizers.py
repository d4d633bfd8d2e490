"""Tests of finding optimizers by name."""

import pytest

from flyball_planner.optimizers import OPTIMIZERS, find_optimizer
from flyball_reports.errors import UnknownName


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("AdamW", "adamw"), ("PagedAdamW8bit", "adamw-8bit-paged"), ("SGD momentum", "sgd-momentum"), ("lion", "lion")],
)
def test_usual_spellings_are_found(spelling: str, name: str) -> None:
    """Hyphens, blanks and capitals do not matter."""
    assert find_optimizer(spelling) is OPTIMIZERS[name]


def test_an_unknown_name_gets_a_suggestion() -> None:
    """The error for a misspelt name suggests the nearest name."""
    with pytest.raises(UnknownName, match="adamw"):
        find_optimizer("adamww")


def test_an_optimizer_in_the_backward_pass_has_no_step() -> None:
    """With the optimizer in the backward pass there are no temporaries for all parameters at once."""
    found = find_optimizer("adamw", in_backward=True)
    assert found.in_backward
    assert found.transient_bytes == 0
