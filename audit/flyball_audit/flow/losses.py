"""What is a loss, or a network, by what is done with it."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.module import Module, last_name
from flyball_audit.names import code_of

_RUNNERS = re.compile(
    r"(^|\.)_*(\w*accelerator|fabric|\w*engine|booster|strategy|trainer|self|model|optim\w*|plugin|amp|autograd)$"
)
"""Whose `.backward(loss)` is handed the loss, where other `.backward()` are the loss's own."""


def model_names(module: Module) -> Iterator[str]:
    """Names, of variables or attributes, that a module treats as networks: it asks for parameters, or evaluates."""
    for each in module.calls_named("parameters", "named_parameters", "eval"):
        held = each.func.value if isinstance(each.func, ast.Attribute) else None
        if not each.args and not each.keywords and isinstance(held, ast.Name | ast.Attribute):
            yield held.id if isinstance(held, ast.Name) else held.attr


_LOSS = re.compile(r"loss$|^loss_(?!fn|func|w|coef|scale|mult|ratio|type|name|dict|mask)")
"""What a part of a loss is called; not the function that gives it, nor what it is weighed with."""


ATTRIBUTE = "."
"""Before the name of an attribute: `self.aux_loss` may be a switch where `aux_loss` is a loss."""


def loss_names(module: Module) -> frozenset[str]:
    """Names of what is differentiated, be it variables or attributes, and of the losses that are added up to it."""
    names = frozenset(backward_names(module))
    sums = (each.value for each in module.all(ast.Assign) if names & {_named(target) for target in each.targets})
    parts = (part for each in sums if isinstance(each, ast.BinOp) for part in _operands(each))
    losses = {
        f"{ATTRIBUTE if isinstance(each, ast.Attribute) else ''}{_named(each)}" for each in parts if _is_part(each)
    }
    return names | {f"{ATTRIBUTE}{each}" for each in names} | losses


def _is_part(node: ast.expr) -> bool:
    return _LOSS.search(_named(node) or "") is not None


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """What arithmetic is done with."""
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def _named(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def backward_names(module: Module) -> Iterator[str]:
    """Names, of variables or attributes, on which a module calls `.backward()`, or hands to one; texts of entries."""
    for each in module.calls_named("backward", "manual_backward"):
        if isinstance(each.func, ast.Attribute):
            inner: ast.expr = each.args[0] if _is_handed(each, each.func.value) else each.func.value
            inner = _scaled(inner)
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr
            elif is_entry(inner):
                yield code_of(inner)


def _is_handed(call: ast.Call, held: ast.expr) -> bool:
    """Whether `.backward` is handed the loss: by what is known to run it, or is no loss by its name where that is."""
    if not call.args:
        return False
    return _RUNNERS.search(code_of(held)) is not None or (_is_part(call.args[0]) and not _is_part(held))


def is_entry(node: ast.expr) -> bool:
    """Whether it is an entry with a name: `losses["total"]`."""
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    )


_SCALING = frozenset({"scale", "mean", "sum", "scale_loss", "stack", "div", "mul"})


def _scaled(node: ast.expr) -> ast.expr:
    """The loss itself within what only scales or sums it: `scaler.scale(loss / n)`, `loss.mean()`."""
    while isinstance(node, ast.BinOp | ast.Call):
        if isinstance(node, ast.BinOp):
            node = node.left
        elif last_name(node) in _SCALING and node.args:
            node = node.args[0]
        elif last_name(node) in _SCALING and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    return node
