"""Which code of a function runs together: its blocks, and the arms of its conditions."""

import ast
from collections.abc import Iterator

from flyball_audit.module import Function, Module


def blocks(module: Module, statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements around one, innermost first, up to its function's."""
    below = statement
    for above in module.ancestors(statement):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(above, field, None)
            if isinstance(block, list) and below in block:
                yield block
        if isinstance(above, Function):
            return
        below = above


def is_exclusive(module: Module, first: ast.AST, second: ast.AST) -> bool:
    """Whether two nodes stand in both arms of a condition: who runs one does not run the other."""
    arms = {above: below for below, above in _conditions(module, first)}
    return any(
        above in arms and (arms[above] in above.body) is not (below in above.body)
        for below, above in _conditions(module, second)
    )


def _conditions(module: Module, node: ast.AST) -> Iterator[tuple[ast.AST, ast.If]]:
    """The conditions around a node, each with what holds the node in it; those that ask it are none."""
    below = node
    for above in module.ancestors(node):
        if isinstance(above, Function):
            return
        if isinstance(above, ast.If) and below is not above.test:
            yield below, above
        below = above


def before(above: ast.AST, below: ast.AST) -> list[ast.stmt]:
    """The statements of the same block before one."""
    block = _block(above, below)
    return block[: block.index(below)] if isinstance(below, ast.stmt) and block else []


def after(above: ast.AST | None, below: ast.stmt) -> list[ast.stmt]:
    """The statements of the same block after one."""
    block = _block(above, below)
    return block[block.index(below) + 1 :] if block else []


def _block(above: ast.AST | None, below: ast.AST) -> list[ast.stmt]:
    blocks = (getattr(above, field, None) for field in ("body", "orelse", "finalbody"))
    return next((each for each in blocks if isinstance(each, list) and below in each), [])
