"""What a call is handed: arguments by keyword or position, and whether any are hidden."""

import ast


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """An argument's expression; None if it is not given, or hidden by unpacking."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or len(call.args) <= position:
        return None
    before = call.args[: position + 1]
    return None if any(isinstance(each, ast.Starred) for each in before) else before[position]


def hides_arguments(call: ast.Call) -> bool:
    """Whether `*` or `**` may hand over anything."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def is_constant(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is that very constant: `False` is not `0` here."""
    return isinstance(node, ast.Constant) and node.value is value
