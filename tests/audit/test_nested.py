"""Of loops that stand one in the other, those over batches."""

import ast
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from flyball_audit.nested import over_batches
from tests.audit.projects import module_of

if TYPE_CHECKING:
    from flyball_audit.module import Module
    from flyball_audit.regions import Root


def _speaks_of_batches(loop: ast.For) -> bool:
    return any(word in ast.unparse(loop.iter) for word in ("batch", "loader"))


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("for epoch in epochs:\n    for batch in loader: run(batch)", ["loader"]),
        ("for batch in loader:\n    for part in parts: run(part)", ["loader"]),
        ("for batch in loader:\n    for i in range(batch.shape[1]): run(i)", ["loader"]),
        ("for epoch in epochs:\n    for batch in loader:\n        for part in parts: run(part)", ["loader"]),
        ("for parts in all_parts:\n    for part in parts: run(part)", ["parts"]),
        ("for batch in loader:\n    for more in batches: run(more)", ["batches"]),
    ],
)
def test_the_loop_over_batches_is_kept(code: str, kept: list[str]) -> None:
    """Epochs give way to the loop that they repeat, and parts of a batch to the loop over batches."""
    _, module = module_of(dedent(code))
    loops: dict[Root, Module] = dict.fromkeys(module.all(ast.For), module)
    found = over_batches(loops, lambda _, each: isinstance(each, ast.For) and _speaks_of_batches(each))
    assert [ast.unparse(each.iter) for each in found if isinstance(each, ast.For)] == kept
