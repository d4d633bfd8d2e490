"""Conditions whose branch sees to it that they do not hold again: what is missing is made, a flag is cleared."""

import ast
from collections.abc import Iterator

from flyball_audit.names import code_of


def fills_what_is_missing(node: ast.If) -> bool:
    """Whether a condition asks for an attribute or entry that its body then makes: `if self.mask is None: …`."""
    asked = {code_of(each) for each in _asked_for(node.test)}
    made = [target for each in node.body if isinstance(each, ast.Assign) for target in each.targets]
    holders = [*made, *(each.value for each in made if isinstance(each, ast.Subscript))]
    return any(isinstance(each, ast.Attribute | ast.Subscript) and code_of(each) in asked for each in holders)


def _asked_for(test: ast.expr) -> Iterator[ast.expr]:
    """What a condition says to be missing: None, false, not in a table, not among an object's attributes."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        ends = test.comparators[0]
        if isinstance(test.ops[0], ast.Is | ast.Eq) and isinstance(ends, ast.Constant) and ends.value is None:
            yield test.left
        elif isinstance(test.ops[0], ast.NotIn):
            yield ends
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = test.operand
        if not isinstance(inner, ast.Call):
            yield inner
        elif len(inner.args) == 1:
            yield inner.args[0]
        elif code_of(inner.func) == "hasattr" and len(inner.args) > 1 and isinstance(inner.args[1], ast.Constant):
            yield ast.Attribute(inner.args[0], str(inner.args[1].value), ast.Load())


def clears_its_flag(node: ast.If) -> bool:
    """Whether a branch switches off what it was entered by: `if self.log_images: self.log_images = False; …`."""
    for each in node.body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant) and not each.value.value:
            asked = {code_of(flag) for flag in _flags(node.test)}
            if any(code_of(target) in asked for target in each.targets):
                return True
    return False


def _flags(test: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes that must hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for each in test.values:
            yield from _flags(each)
    elif isinstance(test, ast.Name | ast.Attribute):
        yield test
