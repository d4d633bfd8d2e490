"""Contexts and decorators that turn autograd's history off."""

import ast

import pytest

from flyball_audit.flow.history import is_named_off, stops_history
from tests.audit.projects import module_of


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


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ("ours.inference_context(model)", True), ("inference.context(model)", True), ("self.no_grad()", True),
        ("gradients_off()", True), ("torch.inference_mode(False)", False), ("open(path)", False),
        ("evaluating(m)", False),
    ],
)  # fmt: skip
def test_a_context_that_nobody_knows_is_taken_by_its_name(context: str, named: bool) -> None:
    """What PyTorch's own contexts do is known; switching a model to evaluation leaves history on."""
    _, module = module_of(f"import torch\nwith {context}:\n    pass\n")
    (item,) = module.all(ast.withitem)
    assert is_named_off(module, item.context_expr) is named


@pytest.mark.parametrize("off", [True, False])
def test_a_partial_is_called_where_its_variable_is(off: bool) -> None:
    """The context that counts is the one around that call."""
    context = "torch.no_grad()" if off else "open(path)"
    project, module = module_of(
        "import torch\nfrom functools import partial\ndef score(model, loader): ...\n"
        f"def fit(model, loader):\n    run = partial(score, model)\n    with {context}:\n        run(loader)\n"
    )
    assert project.flow.is_called_without_history(module, module.functions[0]) is off


@pytest.mark.parametrize(("decorator", "records"), [("@torch.no_grad()", False), ("", True)])
def test_a_function_inside_another_runs_where_that_one_does(*, decorator: str, records: bool) -> None:
    """What extracts features within an evaluation keeps no history either."""
    inner = "def evaluate(loader):\n    def inner(x):\n        return x * 2\n    return inner(loader)\n"
    project, module = module_of(f"import torch\n{decorator}\n{inner}")
    (product,) = module.all(ast.BinOp)
    assert project.flow.records_history(module, product) is records
