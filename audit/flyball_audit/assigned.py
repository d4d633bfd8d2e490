"""What a variable was given last above its use: on every way that leads there, or as the text stands."""

import ast

from flyball_audit.index import nodes_below
from flyball_audit.module import Function, Loop, Module
from flyball_audit.names import code_of

Assigning = ast.Assign | ast.AnnAssign


def last_given(module: Module, name: ast.Name, *, in_place: frozenset[str]) -> ast.expr | None:
    """The value of the last assignment above a variable's use; None where it may be another, or data was put into it.

    `in_place`: methods whose names end with `_` and that put no data into a tensor.
    """
    function = module.function_of(name)
    both: list[Assigning] = [*module.all(ast.Assign), *module.all(ast.AnnAssign)]
    above = [
        each
        for each in both
        if each.lineno < name.lineno
        and module.function_of(each) is function
        and name.id in stored(each)
        and not _is_cast(each, name.id)
    ]
    last = max(above, key=lambda each: each.lineno, default=None)
    if last is None or len(_targets(last)) > 1 or not (isinstance(_targets(last)[0], ast.Name) or _is_grid(last)):
        return None
    plain = _is_always_run(module, last, {*module.ancestors(name)}) and not _is_written_to(module, last, name, in_place)
    return last.value if plain else None


def _is_grid(assigned: Assigning) -> bool:
    """Whether several variables are given parts of a grid that PyTorch spreads: `ys, xs = torch.meshgrid(…)`."""
    return isinstance(assigned.value, ast.Call) and code_of(assigned.value.func) == "torch.meshgrid"


def given_above(module: Module, function: Function, name: ast.Name) -> ast.expr | None:
    """What a function last gave a variable above its use in the text: where it came another way, it may be another."""
    found = [
        assigned
        for assigned in module.all(ast.Assign)
        if assigned.lineno < name.lineno
        and module.function_of(assigned) is function
        and any(isinstance(each, ast.Name) and each.id == name.id for each in assigned.targets)
    ]
    return max(found, key=lambda each: each.lineno).value if found else None


def stored(assigned: Assigning) -> set[str]:
    """The variables that an assignment gives values."""
    below = (each for target in _targets(assigned) for each in nodes_below(target))
    return {each.id for each in below if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _is_cast(assigned: Assigning, name: str) -> bool:
    """Whether it gives a variable its own value as another type: `r, c = r.double(), c.double()`."""
    into, given = _targets(assigned)[0], assigned.value
    pairs = [(into, given)]
    if isinstance(into, ast.Tuple) and isinstance(given, ast.Tuple):
        pairs = [*zip(into.elts, given.elts, strict=False)]
    cast = [value for target, value in pairs if isinstance(target, ast.Name) and target.id == name]
    func = cast[0].func if len(cast) == 1 and isinstance(cast[0], ast.Call) and not cast[0].args else None
    held = func.value if isinstance(func, ast.Attribute) and func.attr in _CASTS else None
    return isinstance(held, ast.Name) and held.id == name


_CASTS = frozenset({"double", "float", "half", "bfloat16", "long", "int", "bool"})


def _targets(assigned: Assigning) -> list[ast.expr]:
    return assigned.targets if isinstance(assigned, ast.Assign) else [assigned.target]


def _is_written_to(module: Module, given: Assigning, name: ast.Name, in_place: frozenset[str]) -> bool:
    """Whether data is put into a variable's tensor before it is used: `x[i] = row`, `x[i].copy_(row)`."""
    function = module.function_of(name)
    subscripts = [
        each
        for each in module.all(ast.Subscript)
        if isinstance(each.ctx, ast.Store) and not _is_filled_at_once(module, given, each)
    ]
    methods = [each for each in module.all(ast.Attribute) if each.attr.endswith("_") and each.attr not in in_place]
    written = [(each, each.value) for each in subscripts] + [(each, _whole(each.value)) for each in methods]
    return any(
        isinstance(holder, ast.Name) and holder.id == name.id and given.lineno < each.lineno <= name.lineno
        and module.function_of(each) is function
        for each, holder in written
    )  # fmt: skip


def _whole(node: ast.expr) -> ast.expr:
    """The tensor of which it may be a part: `x` of `x[i].copy_(row)`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_filled_at_once(module: Module, given: Assigning, entry: ast.Subscript) -> bool:
    """Whether one number is put into entries, and not row by row: `x[:, 0] = 1`, which a device does as well."""
    holder = module.parent(entry)
    if not isinstance(holder, ast.Assign) or not isinstance(holder.value, ast.Constant):
        return False
    around = {*module.ancestors(given)}
    return all(each in around for each in module.ancestors(entry) if isinstance(each, Loop))


def _is_always_run(module: Module, statement: ast.stmt, around: set[ast.AST]) -> bool:
    """Whether who comes to a place came through a statement: it stands in no block that does not hold the place."""
    blocks = (each for each in module.ancestors(statement) if not isinstance(each, ast.With))
    return all(each in around for each in blocks)
