"""The call that made, in host memory, what an expression gives; shaping, scaling and filling are looked through."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_planner.audit.flow.values import Tag, Value
from flyball_planner.audit.given import argument, is_constant
from flyball_planner.audit.index import nodes_below
from flyball_planner.audit.module import Module, last_name

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

FILLED = frozenset({"zeros", "ones", "full", "eye"})
"""The same values wherever they are made, to the bit."""

COMPUTED = frozenset({"arange", "linspace", "logspace"})
"""Fractions of these may be rounded otherwise on a device."""

_RANDOM = frozenset({"rand", "randn", "randint", "randperm", "normal", "empty"})
_LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like"})
_KNOWN = FILLED | COMPUTED | _RANDOM

_NUMPY = frozenset({
    "zeros", "ones", "full", "eye", "arange", "linspace", "randn", "rand", "randint", "uniform", "normal", "random",
    "standard_normal", "permutation",
})  # fmt: skip
"""Of NumPy, where `torch.from_numpy` follows."""

_SHAPING = frozenset({
    "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "fill_", "zero_", "view", "reshape", "unsqueeze",
    "squeeze", "repeat", "expand", "float", "long", "int", "half", "double", "bool", "byte", "to", "type", "clamp",
    "clamp_", "clip", "mul", "mul_", "add", "add_", "div", "div_", "sub", "sub_", "pow", "abs", "transpose", "permute",
    "t", "contiguous", "requires_grad_", "clone", "detach", "tril", "triu", "flatten", "repeat_interleave", "flip",
    "masked_fill", "sqrt", "exp", "neg", "cos", "sin", "tile", "expand_as", "prod",
})  # fmt: skip
"""Methods, and functions of `torch`, that change a tensor without bringing in another."""

_PASSING = frozenset({"torch.autograd.Variable", "torch.nn.Parameter"})

DEEPEST = 10
"""Operations and assignments on the way back: nobody writes more between making a tensor and moving it."""

_TENSORS = frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU, Tag.BATCH, Tag.OUTPUT})


def made_on_host(project: "Project", module: Module, node: ast.expr, depth: int = 0) -> ast.Call | None:
    """The call that made a tensor on the host, of sizes and numbers alone; None where data takes part."""
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Call):
        return node if creates(project, module, node) else _through_call(project, module, node, depth)
    if isinstance(node, ast.Name):
        given = _given(module, node)
        return made_on_host(project, module, given, depth + 1) if given is not None else None
    if isinstance(node, ast.Subscript) and _is_plain(project, module, node.slice):
        return made_on_host(project, module, node.value, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return made_on_host(project, module, node.operand, depth + 1)
    if isinstance(node, ast.BinOp):
        return _of_sides(project, module, [node.left, node.right], depth)
    if isinstance(node, ast.Compare):
        return _of_sides(project, module, [node.left, *node.comparators], depth)
    return None


def creates(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether a call makes a tensor in host memory whose values follow from sizes, numbers or chance."""
    full = module.qualified(call.func) or ""
    name = full.removeprefix("torch.")
    if name in {"from_numpy", "tensor", "as_tensor"} and len(call.args) == 1:
        return is_of_numpy(module, call.args[0]) or (name == "tensor" and _is_setting(call.args[0]))
    if argument(call, "device") is not None or argument(call, "generator") is not None or _hides_names(call):
        return False
    if name in _SIZED and _is_empty(call):
        return False
    if not full.startswith("torch.") or not project.flow.value(module, call).has(Tag.CPU):
        return False
    return name in _KNOWN or name in _LIKE or (name in _OLD and len(call.args) > 1)


_OLD = frozenset({"FloatTensor", "LongTensor", "IntTensor", "ByteTensor", "DoubleTensor", "HalfTensor", "BoolTensor"})
"""Types that make an empty tensor where several sizes are handed to them."""


def _hides_names(call: ast.Call) -> bool:
    """Whether a device may be among `**options`; sizes alone stand before the names: `torch.zeros(*shape)`."""
    return any(each.arg is None for each in call.keywords)


_SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn"})


def _is_empty(call: ast.Call) -> bool:
    """Whether there is nothing to copy: `torch.empty(0, n)`, where nothing was found."""
    first = call.args[0] if call.args else None
    sizes = first.elts if isinstance(first, ast.Tuple | ast.List) else call.args
    return any(is_constant(each, 0) for each in sizes)


_SETTINGS = re.compile(
    r"^(self\.)?(args|cfg|config|conf|opts?|hparams|hp|settings|params)\."
    r"|^(list\()?[\w.]+\.(shape|size\(\))(\[[-\d:]*\])?\)?$|^len\(\w+\)$"
)


def _is_setting(node: ast.expr) -> bool:
    """Whether a tensor is made of a number in the code, of what a configuration says, or of sizes."""
    return isinstance(node, ast.Constant) or _SETTINGS.match(ast.unparse(node)) is not None


def is_of_numpy(module: Module, node: ast.expr) -> bool:
    """Whether NumPy makes it of sizes or by chance: `np.random.randn(…)`, `np.zeros(…).astype(…)`."""
    while (
        isinstance(node, ast.Call) and last_name(node) in {"astype", "reshape"} and isinstance(node.func, ast.Attribute)
    ):
        node = node.func.value
    full = module.qualified(node.func) or "" if isinstance(node, ast.Call) else ""
    return full.startswith("numpy.") and full.rpartition(".")[2] in _NUMPY


def is_copied_numpy(module: Module, call: ast.Call) -> bool:
    """Whether a type of tensors on a device is handed what NumPy made: `torch.cuda.FloatTensor(np.zeros(n))`."""
    if len(call.args) != 1 or call.keywords or not is_of_numpy(module, call.args[0]):
        return False
    if not isinstance(call.func, ast.Name):
        return _is_device_type(module, call.func)
    return any(
        _is_device_type(module, each)
        for given in module.all(ast.Assign)
        if call.func.id in _stored(given)
        for each in ((given.value.body, given.value.orelse) if isinstance(given.value, ast.IfExp) else (given.value,))
    )


def _is_device_type(module: Module, node: ast.expr) -> bool:
    return _DEVICE_TYPES.match(module.qualified(node) or "") is not None


_DEVICE_TYPES = re.compile(r"torch\.cuda\.\w+Tensor$")


def _through_call(project: "Project", module: Module, node: ast.Call, depth: int) -> ast.Call | None:
    full = module.qualified(node.func) or ""
    if full in _PASSING:
        return made_on_host(project, module, node.args[0], depth + 1) if node.args else None
    if last_name(node) not in _SHAPING:
        return None
    rest = [*node.args, *(each.value for each in node.keywords)]
    if full.startswith("torch.") and rest:
        held = rest.pop(0)
    elif isinstance(node.func, ast.Attribute) and not full:
        held = node.func.value
    else:
        return None
    plain = all(_is_plain(project, module, each) for each in rest)
    return made_on_host(project, module, held, depth + 1) if plain else None


def _of_sides(project: "Project", module: Module, sides: list[ast.expr], depth: int) -> ast.Call | None:
    """What one of several operands was made by, if the others are numbers, or made so too."""
    made = [made_on_host(project, module, each, depth + 1) for each in sides]
    known = all(call is not None or _is_plain(project, module, each) for call, each in zip(made, sides, strict=True))
    return next((each for each in made if each is not None), None) if known else None


def _is_plain(project: "Project", module: Module, node: ast.expr) -> bool:
    """Whether an operand is no tensor, as far as anybody knows."""
    value: Value = project.flow.value(module, node)
    return not value.tags & _TENSORS


def _given(module: Module, name: ast.Name) -> ast.expr | None:
    """What a variable was given last above its use, on every way that leads there."""
    function = module.function_of(name)
    above = [
        each
        for each in module.all(ast.Assign)
        if each.lineno < name.lineno and module.function_of(each) is function and name.id in _stored(each)
    ]
    last = max(above, key=lambda each: each.lineno, default=None)
    if last is None or not isinstance(last.targets[0], ast.Name) or len(last.targets) > 1:
        return None
    plain = _is_always_run(module, last, {*module.ancestors(name)}) and not _is_written_to(module, last, name)
    return last.value if plain else None


def _is_written_to(module: Module, given: ast.Assign, name: ast.Name) -> bool:
    """Whether something is put into a variable's tensor before it is used: `x[i] = row`, `x.scatter_(1, y, 1)`."""
    function = module.function_of(name)
    subscripts = [each for each in module.all(ast.Subscript) if isinstance(each.ctx, ast.Store)]
    methods = [each for each in module.all(ast.Attribute) if each.attr.endswith("_") and each.attr not in _SHAPING]
    written = [(each, each.value) for each in subscripts] + [(each, each.value) for each in methods]
    return any(
        isinstance(holder, ast.Name) and holder.id == name.id and given.lineno < each.lineno <= name.lineno
        and module.function_of(each) is function
        for each, holder in written
    )  # fmt: skip


def _is_always_run(module: Module, statement: ast.stmt, around: set[ast.AST]) -> bool:
    """Whether who comes to a place came through a statement: it stands in no block that does not hold the place."""
    blocks = (each for each in module.ancestors(statement) if not isinstance(each, ast.With))
    return all(each in around for each in blocks)


def _stored(assigned: ast.Assign) -> set[str]:
    return {each.id for target in assigned.targets for each in nodes_below(target) if isinstance(each, ast.Name)}
