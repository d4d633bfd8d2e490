"""What a call is handed: arguments by keyword or position, and whether any are hidden."""

import ast

from flyball_audit.module import Function


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """An argument's expression; None if it is not given, or hidden by unpacking."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or len(call.args) <= position:
        return None
    before = call.args[: position + 1]
    return None if any(isinstance(each, ast.Starred) for each in before) else before[position]


def handed_over(function: Function, call: ast.Call, name: str, *, bound: bool) -> ast.expr | None:
    """What a call hands a function over under a name, or the default; bound: it is called of an instance."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    place = names.index(name) - bound if name in names else None
    if place is not None and place < 0:
        return None  # the instance itself is handed over by the dot
    said = argument(call, name, place)
    if said is not None:
        return said
    return default_of(function, name)


def default_of(function: Function | ast.Lambda, name: str) -> ast.expr | None:
    """What an argument is where no call hands it over; None if each call must."""
    return _defaults(function).get(name)


def constant_defaults(function: Function) -> dict[str, ast.Constant]:
    """The constants that a function's arguments are unless they are handed over."""
    return {name: value for name, value in _defaults(function).items() if isinstance(value, ast.Constant)}


def _defaults(function: Function | ast.Lambda) -> dict[str, ast.expr]:
    positional = (*function.args.posonlyargs, *function.args.args)
    pairs = [*zip(reversed(positional), reversed(function.args.defaults), strict=False)]
    alone = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return {each.arg: value for each, value in (*pairs, *alone) if value is not None}


def named_arguments(function: Function) -> list[ast.arg]:
    """The arguments that have a name of their own: all but `*` and `**`."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def hides_arguments(call: ast.Call) -> bool:
    """Whether `*` or `**` may hand over anything."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def is_off(node: ast.expr | None) -> bool:
    """Whether an expression is a constant that counts as false."""
    return isinstance(node, ast.Constant) and not node.value


def is_constant(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is that very constant: `False` is not `0` here."""
    return isinstance(node, ast.Constant) and node.value is value
