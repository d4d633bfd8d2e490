"""Tensors that follow from shapes and constants alone: the same in each call, as long as the shapes are."""

import ast
from typing import TypeGuard

from flyball_audit.flow import Flow
from flyball_audit.flow.values import Tag
from flyball_audit.module import Function, Module, last_name

CREATING = frozenset({
    "ones", "zeros", "full", "empty", "arange", "eye", "linspace", "tril_indices", "triu_indices", "new_ones",
    "new_zeros", "new_full", "new_empty", "ones_like", "zeros_like", "full_like", "empty_like", "tensor",
    "generate_square_subsequent_mask",
})  # fmt: skip
"""Make a tensor of a shape; the tensors among their arguments lend theirs."""

_LENDING = frozenset(
    {"new_ones", "new_zeros", "new_full", "new_empty", "ones_like", "zeros_like", "full_like", "empty_like"}
)

_RANDOM = frozenset({"rand", "randn", "randint", "bernoulli", "dropout", "multinomial", "normal", "randperm"})

DEEPEST = 8
"""Assignments followed back."""


def follows_from_shapes(flow: Flow, module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether a tensor is made of shapes and constants alone."""
    if depth > DEEPEST:
        return False
    if isinstance(node, ast.Call):
        return _call(flow, module, node, depth)
    if isinstance(node, ast.Subscript):
        return follows_from_shapes(flow, module, node.value, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return follows_from_shapes(flow, module, node.operand, depth + 1)
    if isinstance(node, ast.BinOp):
        return _all(flow, module, [node.left, node.right], depth)
    if isinstance(node, ast.Compare):
        return _all(flow, module, [node.left, *node.comparators], depth)
    if isinstance(node, ast.Name):
        given = assigned_before(module, node)
        made = given is not None and follows_from_shapes(flow, module, given, depth + 1)
        return made and not _is_filled_with_data(flow, module, node, depth)
    return False


def _call(flow: Flow, module: Module, node: ast.Call, depth: int) -> bool:
    name = last_name(node)
    if name in _RANDOM:
        return False
    arguments = [*node.args, *(each.value for each in node.keywords if each.arg not in {"device", "dtype"})]
    if name in CREATING:
        lent = arguments[1:] if name.endswith("_like") else arguments
        return all(_is_plain(flow, module, each) for each in lent) and (name in _LENDING or _is_of_arrays(module, node))
    if _is_of_arrays(module, node):
        return _all(flow, module, arguments, depth)
    if not isinstance(node.func, ast.Attribute):
        return False
    own = follows_from_shapes(flow, module, node.func.value, depth + 1)
    return own and all(
        _is_plain(flow, module, each) or follows_from_shapes(flow, module, each, depth + 1) for each in arguments
    )


def _all(flow: Flow, module: Module, parts: list[ast.expr], depth: int) -> bool:
    """One tensor of shapes at least, and no other."""
    made = [follows_from_shapes(flow, module, each, depth + 1) for each in parts]
    return any(made) and all(ok or _is_plain(flow, module, each) for ok, each in zip(made, parts, strict=True))


def _is_of_arrays(module: Module, node: ast.Call) -> bool:
    """Whether PyTorch computes it, or NumPy, from whose arrays masks are made, too."""
    return (module.qualified(node.func) or "").startswith(("torch.", "numpy."))


def _is_plain(flow: Flow, module: Module, node: ast.expr) -> bool:
    """Numbers, shapes, settings: no tensor, as far as anybody knows."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(_is_plain(flow, module, each) for each in node.elts)
    return not flow.value(module, node).tags & {Tag.TENSOR, Tag.DEVICE, Tag.CPU, Tag.BATCH, Tag.OUTPUT}


def assigned_before(module: Module, node: ast.Name) -> ast.expr | None:
    """What a variable of a function was given last, above a line; None if that is not plain."""
    function, name = module.function_of(node), node.id
    found = None
    handed: bool | None = None
    for each in module.all(ast.Assign):
        if each.lineno < node.lineno and _gives(each, name) and module.function_of(each) is function:
            handed = _is_argument(function, name) if handed is None else handed
            if handed and module.parent(each) is not function:
                continue  # a default, made where nothing was handed over
            for target in each.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    found = each.value
                elif _holds(target, name):
                    found = _part(target, each.value, name)
    return found


def _gives(assigned: ast.Assign, name: str) -> bool:
    """Whether an assignment gives a variable its value, by itself or in a tuple."""
    return any(each.id == name if isinstance(each, ast.Name) else _holds(each, name) for each in assigned.targets)


def _holds(target: ast.expr, name: str) -> TypeGuard[ast.Tuple]:
    parts = target.elts if isinstance(target, ast.Tuple) else ()
    return any(isinstance(each, ast.Name) and each.id == name for each in parts)


def _is_argument(function: Function | None, name: str) -> bool:
    return function is not None and any(each.arg == name for each in ast.walk(function.args) if type(each) is ast.arg)


def _part(target: ast.Tuple, value: ast.expr, name: str) -> ast.expr | None:
    """Of `a, b = x, y`, what one of the names is given."""
    if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
        return None
    pairs = zip(target.elts, value.elts, strict=True)
    return next((each for to, each in pairs if isinstance(to, ast.Name) and to.id == name), None)


_FILLING = frozenset({
    "copy_", "scatter_", "scatter_add_", "index_put_", "index_copy_", "index_add_", "masked_scatter_", "put_", "add_",
    "sub_", "mul_", "div_",
})  # fmt: skip
"""Methods that write into a tensor what they are handed."""


def _is_filled_with_data(flow: Flow, module: Module, name: ast.Name, depth: int) -> bool:
    """Whether something that does not follow from shapes is written into a variable's tensor above a line."""
    function = module.function_of(name)
    assignments: list[ast.Assign | ast.AugAssign] = [*module.all(ast.Assign), *module.all(ast.AugAssign)]
    written = [
        each.value
        for each in assignments
        if any(isinstance(target, ast.Subscript) and _begins_with(target, name.id) for target in _targets(each))
    ]
    for call in module.calls_named(*_FILLING):
        written += call.args if _begins_with(call.func, name.id) else []
    here = (each for each in written if each.lineno < name.lineno and module.function_of(each) is function)
    return any(not _is_constant(flow, module, each, depth) for each in here)


def _begins_with(node: ast.expr, name: str) -> bool:
    """Whether an expression begins with a variable: `mask[0]`, `mask[0].copy_`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _targets(assigned: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return assigned.targets if isinstance(assigned, ast.Assign) else [assigned.target]


def _is_constant(flow: Flow, module: Module, node: ast.expr, depth: int) -> bool:
    """A number or a switch of the code, or what follows from shapes itself."""
    numbers = not any(isinstance(each, ast.Name | ast.Attribute) for each in ast.walk(node))
    return numbers or flow.value(module, node).tags == _OF_HOST or follows_from_shapes(flow, module, node, depth + 1)


_OF_HOST = frozenset({Tag.HOST})


def is_kept(module: Module, node: ast.AST, function: Function) -> bool:
    """Whether what a node makes outlives the call: in an attribute, a buffer, a cache."""
    if any("cache" in ast.unparse(each) for each in function.decorator_list):
        return True
    statement = module.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if any(isinstance(each, ast.Attribute | ast.Subscript) for each in targets):
        return True
    names = {each.id for each in targets if isinstance(each, ast.Name)}
    if any(_names_in(call) & names for call in module.calls_named(*_KEEPING) if module.function_of(call) is function):
        return True
    calls = (each for each in ast.walk(statement) if isinstance(each, ast.Call))
    return any(last_name(each) in _KEEPING for each in calls)


_KEEPING = ("register_buffer", "setattr", "__setattr__")


def _names_in(call: ast.Call) -> set[str]:
    return {each.id for argument in call.args for each in ast.walk(argument) if isinstance(each, ast.Name)}
