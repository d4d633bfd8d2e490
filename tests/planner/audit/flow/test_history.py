"""Contexts and decorators that turn autograd's history off."""

import ast

import pytest

from flyball_planner.audit.flow.history import stops_history
from tests.planner.audit.projects import module_of


@pytest.mark.parametrize(
    ("context", "stops"),
    [
        ("torch.no_grad()", True), ("torch.no_grad", True), ("torch.inference_mode()", True),
        ("torch.inference_mode(False)", False), ("torch.inference_mode(True)", True),
        ("torch.set_grad_enabled(False)", True), ("torch.set_grad_enabled(flag)", False), ("open(path)", False),
    ],
)  # fmt: skip
def test_history_is_off_where_the_code_says_so(context: str, stops: bool) -> None:
    """A switch that a variable decides is not known to be off."""
    _, module = module_of(f"import torch\nwith {context}:\n    pass\n")
    (item,) = module.all(ast.withitem)
    assert stops_history(module, item.context_expr) is stops
