"""Find out which mask an attention puts on its scores: none, one that is proven to be causal, or another one."""

import ast
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from flyball_audit.assigned import given_above
from flyball_audit.branches import is_exclusive
from flyball_audit.given import argument
from flyball_audit.guards import guards
from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.scores import BIAS, Source, made_of, sources


class AttentionMask(Enum):
    """The mask that a fused kernel needs to give the same result."""

    NONE = auto()
    CAUSAL = auto()
    OTHER = auto()


class MaskArea(Enum):
    """The entries of a matrix that are set; columns are later positions."""

    LOWER = auto()  # the diagonal and below: what a causal mask keeps
    ABOVE = auto()  # above the diagonal: what a causal mask hides
    UPPER = auto()  # the diagonal and above
    BELOW = auto()
    HIDDEN = auto()  # 0 in LOWER, very negative above: a causal mask that is added
    ALL = auto()  # one value everywhere
    ALL_NEGATIVE = auto()  # one very negative value everywhere
    NOTHING = auto()  # zeros


_NEGATED = {
    MaskArea.LOWER: MaskArea.ABOVE,
    MaskArea.ABOVE: MaskArea.LOWER,
    MaskArea.UPPER: MaskArea.BELOW,
    MaskArea.BELOW: MaskArea.UPPER,
    MaskArea.ALL: MaskArea.NOTHING,
    MaskArea.NOTHING: MaskArea.ALL,
}
_TRANSPOSED = {
    MaskArea.LOWER: MaskArea.UPPER,
    MaskArea.UPPER: MaskArea.LOWER,
    MaskArea.ABOVE: MaskArea.BELOW,
    MaskArea.BELOW: MaskArea.ABOVE,
}

_SHAPING = frozenset({
    "bool", "to", "float", "type", "half", "double", "long", "int", "byte", "view", "reshape", "unsqueeze", "squeeze",
    "expand", "expand_as", "contiguous", "clone", "detach", "cuda", "type_as", "bfloat16",
})  # fmt: skip
"""Methods that change neither which entries of a mask are set nor their order."""

_ONES = frozenset({"ones", "ones_like", "new_ones"})
_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
_FULL = frozenset({"full", "new_full"})
_DEEPEST = 12
_VERY_NEGATIVE = -1000.0
"""From here on down `exp` leaves nothing of a score; GPT-2 used −10,000."""


class MaskOperation(NamedTuple):
    """A change of scores between their product and the softmax that a fused kernel has to be told about."""

    function: Function
    node: ast.AST
    is_causal: bool


def mask_of(
    module: Module, function: Function, softmax: ast.Call, scores: ast.expr, product: ast.expr
) -> AttentionMask:
    """Return the mask between a product of queries and keys and its softmax; a condition makes it another one."""
    found = list(_operations(module, Source(function, scores), product, set()))
    found = [each for each in found if each.function is not function or not is_exclusive(module, softmax, each.node)]
    if not found:
        return AttentionMask.OTHER if _is_masked_later(module, softmax) else AttentionMask.NONE
    around = {each.test for each in guards(module, softmax, function)}
    always = all(
        each.test in around for one in found for each in guards(module, one.node, one.function)
    )  # fmt: skip
    return AttentionMask.CAUSAL if always and all(each.is_causal for each in found) else AttentionMask.OTHER


def _is_masked_later(module: Module, softmax: ast.Call) -> bool:
    method = module.parent(softmax)
    return isinstance(method, ast.Attribute) and method.attr.startswith("masked_fill")


def _operations(module: Module, here: Source, product: ast.expr, seen: set[ast.AST]) -> Iterator[MaskOperation]:
    """Yield the masks and biases on the way back from the softmax to the product."""
    function, node = here
    if node in seen:
        return
    seen.add(node)
    if node is product:
        if isinstance(node, ast.Call) and last_name(node) == "baddbmm" and _number(argument(node, "beta")) != 0:
            first = node.args[0] if len(node.args) > 2 else getattr(node.func, "value", None)
            yield MaskOperation(function, node, _area(module, function, first) is MaskArea.HIDDEN)
        return
    if isinstance(node, ast.Name):
        yield from _in_place(module, function, node)
    parts = list(made_of(module, here))
    leading = [each for each in parts if _leads(module, each, product)]
    if isinstance(node, ast.BinOp):
        yield from _of_sum(module, function, node, [each.node for each in parts if each not in leading])
    elif isinstance(node, ast.Call):
        yield from _of_call(module, function, node, [each.node for each in parts if each not in leading])
    for each in leading:
        yield from _operations(module, each, product, seen)


def _leads(module: Module, here: Source, product: ast.expr) -> bool:
    return any(each.node is product for each in sources(module, here.function, here.node))


def _of_sum(module: Module, function: Function, node: ast.BinOp, others: list[ast.expr]) -> Iterator[MaskOperation]:
    for other in others:
        if isinstance(node.op, ast.Add | ast.Sub):
            if not _is_shift(other):
                causal = isinstance(node.op, ast.Add) and _area(module, function, other) is MaskArea.HIDDEN
                yield MaskOperation(function, node, causal)
        elif "mask" in code_of(other):
            yield MaskOperation(function, node, is_causal=False)


def _is_shift(node: ast.expr) -> bool:
    """Return True for what softmax cancels out: a number, or the maximum of the scores."""
    inside = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return _number(node) is not None or any(last_name(each) in {"amax", "max", "logsumexp"} for each in inside)


def _of_call(module: Module, function: Function, call: ast.Call, others: list[ast.expr]) -> Iterator[MaskOperation]:
    name = last_name(call).removesuffix("_")
    if name in {"masked_fill", "where"}:
        yield MaskOperation(function, call, _hides_later(module, function, call))
    elif name == "add":
        for other in (each for each in others if not _is_shift(each)):
            yield MaskOperation(function, call, _area(module, function, other) is MaskArea.HIDDEN)
    elif BIAS.search(name) or (name in {"mul", "div"} and any("mask" in code_of(each) for each in others)):
        yield MaskOperation(function, call, is_causal=False)


def _hides_later(module: Module, function: Function, call: ast.Call) -> bool:
    """Return True for `scores.masked_fill(later, -inf)` and `torch.where(earlier, scores, -inf)`."""
    given = [*call.args, *(each.value for each in call.keywords)]
    torch = (module.qualified(call.func) or "").startswith("torch.")
    if last_name(call) != "where":
        if torch:
            given = given[1:]
        return (
            len(given) == 2
            and _area(module, function, given[0]) is MaskArea.ABOVE
            and _is_very_negative(module, function, given[1])
        )
    if not torch and isinstance(call.func, ast.Attribute):  # `scores.where(earlier, -inf)`
        given = [*given[:1], call.func.value, *given[1:]]
    if len(given) != 3:
        return False
    area = _area(module, function, given[0])
    fill = given[2] if area is MaskArea.LOWER else given[1]
    return area in {MaskArea.LOWER, MaskArea.ABOVE} and _is_very_negative(module, function, fill)


def _in_place(module: Module, function: Function, name: ast.Name) -> Iterator[MaskOperation]:
    """Yield the statements that change a variable's scores in place above its use."""
    for added in module.within(function, ast.AugAssign):
        if _is_above(added.target, name) and not _is_shift(added.value):
            if isinstance(added.op, ast.Add | ast.Sub):
                causal = isinstance(added.op, ast.Add) and _area(module, function, added.value) is MaskArea.HIDDEN
                yield MaskOperation(function, added, causal)
            elif "mask" in code_of(added.value):
                yield MaskOperation(function, added, is_causal=False)
    for statement in module.within(function, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_above(call.func.value, name):
            yield from _of_call(module, function, call, list(call.args))
    for assigned in module.within(function, ast.Assign):
        target = assigned.targets[0]
        if isinstance(target, ast.Subscript) and _is_above(target.value, name):
            index = target.slice.elts[-1] if isinstance(target.slice, ast.Tuple) else target.slice
            hidden = _area(module, function, index) is MaskArea.ABOVE
            yield MaskOperation(function, assigned, hidden and _is_very_negative(module, function, assigned.value))


def _is_above(target: ast.expr, name: ast.Name) -> bool:
    return isinstance(target, ast.Name) and target.id == name.id and target.lineno < name.lineno


def _area(module: Module, function: Function, node: ast.expr | None, depth: int = 0) -> MaskArea | None:
    """Return which entries of a mask are set; None where that is not proven."""
    if node is None or depth > _DEEPEST:
        return None

    def area(other: ast.expr) -> MaskArea | None:
        return _area(module, function, other, depth + 1)

    if isinstance(node, ast.Name):
        given = _only_value(module, function, node)
        return None if given is None else area(given)
    if isinstance(node, ast.Attribute):
        if node.attr in {"T", "mT"}:
            return _of(_TRANSPOSED, area(node.value))
        return _of_attribute(module, function, node, depth)
    if isinstance(node, ast.Subscript):
        return area(node.value) if _begins_at_first(node.slice) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        return _of(_NEGATED, area(node.operand))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _of_comparison(module, function, node, depth)
    if isinstance(node, ast.BinOp):
        return _of_arithmetic(module, function, node, depth)
    return _of_mask_call(module, function, node, depth) if isinstance(node, ast.Call) else None


def _of(table: dict[MaskArea, MaskArea], area: MaskArea | None) -> MaskArea | None:
    return None if area is None else table.get(area)


def _only_value(module: Module, function: Function, name: ast.Name) -> ast.expr | None:
    """Return what a variable was given last, if every way leads there and nothing changes it in place."""
    stored = [each for each in module.all(ast.Name) if each.id == name.id and not isinstance(each.ctx, ast.Load)
              and module.function_of(each) is function]  # fmt: skip
    given = given_above(module, function, name)
    if given is None or any(True for _ in _in_place(module, function, name)):
        return None
    around = {each.test for each in guards(module, name, function)}
    always = all(each.test in around for one in stored for each in guards(module, one, function))
    looped = any(isinstance(above, Loop) for one in stored for above in module.ancestors(one))
    return given if always and not looped else None


def _of_attribute(module: Module, function: Function, node: ast.Attribute, depth: int) -> MaskArea | None:
    """Return the entries of a buffer that its class sets once."""
    holder = module.class_of(function)
    if holder is None or code_of(node.value) != "self":
        return None
    methods = [each for each in holder.body if isinstance(each, Function)]
    found = [(method, given) for method in methods for given in _given(module, method, node.attr)]
    return _area(module, *found[0], depth + 1) if len(found) == 1 else None


def _given(module: Module, method: Function, name: str) -> Iterator[ast.expr]:
    """Yield what a method gives an attribute: as a buffer, or plainly."""
    for call in module.calls_of(method):
        if last_name(call) == "register_buffer" and len(call.args) > 1 and _text(call.args[0]) == name:
            yield call.args[1]
    for assigned in module.within(method, ast.Assign):
        if any(code_of(each) == f"self.{name}" for each in assigned.targets):
            yield assigned.value


def _text(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _begins_at_first(index: ast.expr) -> bool:
    """Return True if a part of a mask begins at the first row and column: `mask[:, :, :t, :t]`, `mask[None]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(
        (isinstance(each, ast.Slice) and each.lower is None and each.step is None)
        or (isinstance(each, ast.Constant) and each.value in {None, ...})
        for each in parts
    )


def _of_comparison(module: Module, function: Function, node: ast.Compare, depth: int) -> MaskArea | None:
    """Return the entries of `mask == 0`, and of positions compared with positions: `rows[:, None] >= columns`."""
    sign, right = node.ops[0], node.comparators[0]
    number = _number(right)
    if number is not None:
        area = _area(module, function, node.left, depth + 1)
        if (isinstance(sign, ast.Eq) and number == 0) or (isinstance(sign, ast.NotEq | ast.Lt) and number == 1):
            return _of(_NEGATED, area)
        same = (isinstance(sign, ast.Eq) and number == 1) or (isinstance(sign, ast.NotEq | ast.Gt) and number == 0)
        return area if same and area in _NEGATED else None
    first, second = _axis(module, function, node.left), _axis(module, function, right)
    if first is None or second is None or first[1] != second[1] or {first[0], second[0]} != {"rows", "columns"}:
        return None
    table = _ROWS_AGAINST_COLUMNS if first[0] == "rows" else _COLUMNS_AGAINST_ROWS
    return table.get(type(sign))


_ROWS_AGAINST_COLUMNS = {
    ast.GtE: MaskArea.LOWER,
    ast.Gt: MaskArea.BELOW,
    ast.Lt: MaskArea.ABOVE,
    ast.LtE: MaskArea.UPPER,
}
_COLUMNS_AGAINST_ROWS = {
    ast.LtE: MaskArea.LOWER,
    ast.Lt: MaskArea.BELOW,
    ast.Gt: MaskArea.ABOVE,
    ast.GtE: MaskArea.UPPER,
}


_AS_ROWS: frozenset[tuple[str | float | None, ...]] = frozenset(
    {("unsqueeze", 1.0), ("unsqueeze", -1.0), ("view", -1.0, 1.0)}
)
_AS_COLUMNS: frozenset[tuple[str | float | None, ...]] = frozenset({("unsqueeze", 0.0), ("view", 1.0, -1.0)})


def _axis(module: Module, function: Function, node: ast.expr) -> tuple[str, str] | None:
    """Return whether positions lie along rows or columns, and how many there are: `torch.arange(t)[:, None]`."""
    along = "columns"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        first, second = (isinstance(each, ast.Constant) and each.value is None for each in node.slice.elts)
        if first is second:
            return None
        node, along = node.value, "rows" if second else "columns"
    elif (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"unsqueeze", "view"}
    ):
        shape = (node.func.attr, *map(_number, node.args))
        if shape not in _AS_ROWS | _AS_COLUMNS:
            return None
        node, along = node.func.value, "rows" if shape in _AS_ROWS else "columns"
    if isinstance(node, ast.Name):
        node = _only_value(module, function, node) or node
    if isinstance(node, ast.Call) and module.qualified(node.func) == "torch.arange" and len(node.args) == 1:
        return along, code_of(node.args[0])
    return None


def _of_arithmetic(module: Module, function: Function, node: ast.BinOp, depth: int) -> MaskArea | None:
    """Return the entries of `1 - mask` and `later * -1e9`."""
    if isinstance(node.op, ast.Sub) and _number(node.left) == 1:
        return _of(_NEGATED, _area(module, function, node.right, depth + 1))
    if isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if _is_very_negative(module, function, other):
                return _of(_SCALED, _area(module, function, one, depth + 1))
    return None


_SCALED = {MaskArea.ABOVE: MaskArea.HIDDEN, MaskArea.ALL: MaskArea.ALL_NEGATIVE}


def _of_mask_call(module: Module, function: Function, call: ast.Call, depth: int) -> MaskArea | None:
    name = last_name(call)
    by_torch = (module.qualified(call.func) or "").startswith("torch.")
    held = call.func.value if isinstance(call.func, ast.Attribute) and not by_torch else None
    first = held if held is not None else call.args[0] if call.args else None
    rest = list(call.args) if held is not None else list(call.args[1:])
    if name == "generate_square_subsequent_mask":
        return MaskArea.HIDDEN
    if name in _ONES | _ZEROS | _FULL and (by_torch or name.startswith("new_")):
        return _of_one_value(module, function, call)
    if first is None:
        return None
    if name in {"tril", "triu", "tril_", "triu_"}:
        diagonal = argument(call, "diagonal") or next(iter(rest), None)
        return _triangle(_area(module, function, first, depth + 1), name, 0 if diagonal is None else _number(diagonal))
    if name.startswith("masked_fill") and len(rest) == 2:
        base, there = (_area(module, function, each, depth + 1) for each in (first, rest[0]))
        if there is MaskArea.ABOVE and base in {MaskArea.LOWER, MaskArea.NOTHING, MaskArea.ALL}:
            return MaskArea.HIDDEN if _is_very_negative(module, function, rest[1]) else None
        return (
            MaskArea.HIDDEN
            if base is MaskArea.HIDDEN and there is MaskArea.LOWER and _number(rest[1]) is not None
            else None
        )
    area = _area(module, function, first, depth + 1)
    if name in _SHAPING and held is not None:
        return area
    if name == "logical_not" or (name == "eq" and _number(next(iter(rest), None)) == 0):
        return _of(_NEGATED, area)
    return _of(_TRANSPOSED, area) if name in {"t", "transpose"} else None


def _of_one_value(module: Module, function: Function, call: ast.Call) -> MaskArea | None:
    name = last_name(call)
    if name in _ONES:
        return MaskArea.ALL
    if name in _ZEROS:
        return MaskArea.NOTHING
    value = argument(call, "fill_value", 1)
    if value is None:
        return None
    if _is_very_negative(module, function, value):
        return MaskArea.ALL_NEGATIVE
    number = _number(value)
    return MaskArea.NOTHING if number == 0 else MaskArea.ALL if number == 1 else None


def _triangle(area: MaskArea | None, name: str, diagonal: float | None) -> MaskArea | None:
    """Return what `tril` and `triu` leave of a matrix with one value everywhere."""
    lower = name.startswith("tril")
    if area is MaskArea.ALL:
        return {
            (True, 0): MaskArea.LOWER,
            (True, -1): MaskArea.BELOW,
            (False, 0): MaskArea.UPPER,
            (False, 1): MaskArea.ABOVE,
        }.get((lower, int(diagonal) if diagonal is not None else 9))
    return MaskArea.HIDDEN if area is MaskArea.ALL_NEGATIVE and not lower and diagonal == 1 else None


def _number(node: ast.expr | None) -> float | None:
    """Return the number, or truth value, that stands in the code."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    known = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    return float(node.value) if known and isinstance(node, ast.Constant) else None  # type: ignore[arg-type]  # a number


def _is_very_negative(module: Module, function: Function, node: ast.expr) -> bool:
    """Return True for `float("-inf")`, `-1e9`, `torch.finfo(x.dtype).min` and variables that hold one of them."""
    if isinstance(node, ast.Name):
        given = _only_value(module, function, node)
        return given is not None and not isinstance(given, ast.Name) and _is_very_negative(module, function, given)
    number = _number(node)
    if number is not None:
        return number <= _VERY_NEGATIVE
    code = code_of(node).replace('"', "'")
    if code in {"float('-inf')", "-float('inf')", "-math.inf", "-torch.inf", "-np.inf", "-numpy.inf"}:
        return True
    return ("finfo(" in code) and (code.endswith(".min") or (code.startswith("-") and code.endswith(".max")))
