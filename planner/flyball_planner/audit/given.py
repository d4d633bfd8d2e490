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


def handed_over(
    function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str, *, bound: bool
) -> ast.expr | None:
    """What a call hands a function over under a name, or the default; bound: it is called of an instance."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    place = names.index(name) - bound if name in names else None
    if place is not None and place < 0:
        return None  # the instance itself is handed over by the dot
    said = argument(call, name, place)
    if said is not None:
        return said
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    alone = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return defaults.get(name) or {each.arg: default for each, default in alone}.get(name)


def hides_arguments(call: ast.Call) -> bool:
    """Whether `*` or `**` may hand over anything."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def is_constant(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is that very constant: `False` is not `0` here."""
    return isinstance(node, ast.Constant) and node.value is value
