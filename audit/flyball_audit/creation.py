"""The call that made, in host memory, what an expression gives; shaping, scaling and filling are looked through."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_audit.assigned import given_above, last_given, stored
from flyball_audit.flow.callees import is_static
from flyball_audit.flow.values import Tag, Value
from flyball_audit.given import argument, is_constant, named_arguments
from flyball_audit.module import Function, Module, last_name
from flyball_audit.sizes import (
    TENSORS,
    is_of_host_numbers,
    is_of_numpy,
    is_one_number,
    is_range,
    is_setting,
    is_size,
)

if TYPE_CHECKING:
    from flyball_audit.project import Project

FILLED = frozenset({"zeros", "ones", "full", "eye"})
"""The same values wherever they are made, to the bit."""

COMPUTED = frozenset({"arange", "linspace", "logspace"})
"""Fractions of these may be rounded otherwise on a device."""

_RANDOM = frozenset({"rand", "randn", "randint", "randperm", "normal", "empty"})
_LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like"})
_KNOWN = FILLED | COMPUTED | _RANDOM
TAKES_DEVICE = frozenset(f"torch.{each}" for each in _KNOWN | _LIKE | {"tensor", "as_tensor"})
"""What can be told to make its tensor on a device."""

_SHAPING = frozenset({
    "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "fill_", "zero_", "view", "reshape", "unsqueeze",
    "squeeze", "repeat", "expand", "float", "long", "int", "half", "double", "bool", "byte", "to", "type", "clamp",
    "clamp_", "clip", "mul", "mul_", "add", "add_", "div", "div_", "sub", "sub_", "pow", "abs", "transpose", "permute",
    "t", "contiguous", "requires_grad_", "clone", "detach", "tril", "triu", "flatten", "repeat_interleave", "flip",
    "masked_fill", "sqrt", "exp", "neg", "cos", "sin", "tile", "expand_as", "prod", "view_as", "reshape_as", "log",
    "log2", "log1p", "rsqrt", "reciprocal", "sigmoid", "tanh", "softmax", "bernoulli", "cumsum", "cumprod", "sum",
    "mean", "floor", "ceil", "round", "sign", "square", "diag", "diag_embed", "roll", "exp_", "log_", "neg_", "pow_",
    "sqrt_", "sigmoid_", "outer", "ger", "pad", "one_hot", "tril_", "triu_", "ne", "eq", "gt", "lt", "ge", "le",
    "logical_not", "narrow", "unbind", "ones_", "zeros_", "constant_", "xavier_uniform_", "xavier_normal_",
    "kaiming_uniform_", "kaiming_normal_", "trunc_normal_", "geometric_", "cauchy_", "log_normal_",
})  # fmt: skip
"""Methods, and functions of `torch`, that change a tensor without bringing in another."""

_OF_ONE_SIZE = frozenset({"expand_as", "view_as", "reshape_as"})
"""… that ask another for its size alone."""

_JOINING = frozenset({
    "torch.cat", "torch.concat", "torch.stack", "torch.hstack", "torch.vstack", "torch.meshgrid",
    "torch.cartesian_prod", "torch.broadcast_tensors",
})  # fmt: skip

_PASSING = frozenset({"torch.autograd.Variable", "torch.nn.Parameter"})

DEEPEST = 16
"""Operations and assignments on the way back: nobody writes more between making a tensor and moving it."""


def made_on_host(project: "Project", module: Module, node: ast.expr, depth: int = 0) -> ast.Call | None:
    """The call that made a tensor on the host, of sizes and numbers alone; None where data takes part."""
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Call):
        return node if creates(project, module, node) else _through_call(project, module, node, depth)
    if isinstance(node, ast.Name):
        given = last_given(module, node, in_place=_SHAPING)
        return made_on_host(project, module, given, depth + 1) if given is not None else None
    if isinstance(node, ast.Subscript) and _is_plain(project, module, node.slice):
        return made_on_host(project, module, node.value, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return made_on_host(project, module, node.operand, depth + 1)
    if isinstance(node, ast.BinOp):
        return _of_sides(project, module, [node.left, node.right], depth)
    if isinstance(node, ast.IfExp):
        return _of_sides(project, module, [node.body, node.orelse], depth)
    if isinstance(node, ast.Compare):
        return _of_sides(project, module, [node.left, *node.comparators], depth)
    return None


def creates(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether a call makes a tensor in host memory whose values follow from sizes, numbers or chance."""
    full = module.qualified(call.func) or ""
    name = full.removeprefix("torch.")
    if argument(call, "device") is not None or argument(call, "generator") is not None or _hides_names(call):
        return False
    if name in _COPYING and len(call.args) == 1:
        only = call.args[0]
        given = last_given(module, only, in_place=frozenset()) if isinstance(only, ast.Name) else only
        by_numpy = given is not None and is_of_numpy(module, given)
        return by_numpy or (name != "from_numpy" and _is_of_numbers(project, module, call))
    if name in _SIZED and _is_empty(call):
        return False
    if name == "normal" and any(project.flow.value(module, each).has(Tag.DEVICE) for each in call.args):
        return False  # it is where what it is about is
    if not full.startswith("torch.") or not _lies_on_host(project, module, call, name):
        return False
    return name in _KNOWN or name in _LIKE or (name in _TYPES and len(call.args) > 1)


def _lies_on_host(project: "Project", module: Module, call: ast.Call, name: str) -> bool:
    """Whether the host makes it: also if a tensor on a device tells the size, which is waited for besides."""
    tags = project.flow.value(module, call).tags
    moved = Tag.DEVICE in tags or project.flow.default_device_changes(module)
    return Tag.CPU in tags or (name in _KNOWN and not moved)


_TYPES = frozenset({
    "Tensor", "FloatTensor", "LongTensor", "IntTensor", "ByteTensor", "DoubleTensor", "HalfTensor", "BoolTensor",
})  # fmt: skip
"""Types that make an empty tensor where sizes are handed to them, and copy a list."""

_COPYING = _TYPES | {"from_numpy", "tensor", "as_tensor"}


def _is_of_numbers(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether numbers of the host are put into a tensor; a type of tensors that is handed a size makes an empty one."""
    only = call.args[0]
    listed = isinstance(only, ast.List | ast.Tuple | ast.BinOp | ast.ListComp) or is_range(module, only)
    if last_name(call) in _TYPES and not listed:
        given = last_given(module, only, in_place=_SHAPING) if isinstance(only, ast.Name) else only
        return (given is not None and is_size(given)) or _is_listed_argument(module, only)
    return _is_listed_argument(module, only) or is_setting(module, only) or is_of_host_numbers(project, module, only)


def _is_listed_argument(module: Module, node: ast.expr) -> bool:
    """Whether it is an argument that is a list, as its annotation says, or as whoever hands nothing over gets one."""
    function = module.function_of(node) if isinstance(node, ast.Name) else None
    if function is None or not isinstance(node, ast.Name):
        return False
    own = [each for each in named_arguments(function) if each.arg == node.id]
    if any(each.annotation is not None and _LISTS.search(ast.unparse(each.annotation)) for each in own):
        return True
    given = [each for each in module.within(function, ast.Assign) if node.id in stored(each)]
    return bool(own) and any(isinstance(each.value, ast.List) and is_setting(module, each.value) for each in given)


_LISTS = re.compile(r"(^|\W)([Ll]ist|[Tt]uple|Sequence)\b")


def is_few_numbers(module: Module, call: ast.Call) -> bool:
    """Whether a call puts those numbers alone into a tensor that stand in the code: to copy them costs a wait."""
    name = (module.qualified(call.func) or "").removeprefix("torch.")
    only = call.args[0] if name in _COPYING and len(call.args) == 1 else None
    if only is None or is_of_numpy(module, only) or is_size(only):
        return False
    return not isinstance(only, ast.BinOp) or not is_setting(module, only)


def _hides_names(call: ast.Call) -> bool:
    """Whether a device may be among `**options`; sizes alone stand before the names: `torch.zeros(*shape)`."""
    return any(each.arg is None for each in call.keywords)


_SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn"})


def _is_empty(call: ast.Call) -> bool:
    """Whether there is nothing to copy: `torch.empty(0, n)`, where nothing was found."""
    first = call.args[0] if call.args else None
    sizes = first.elts if isinstance(first, ast.Tuple | ast.List) else call.args
    return any(is_constant(each, 0) for each in sizes)


def is_copied_numpy(module: Module, call: ast.Call) -> bool:
    """Whether a type of tensors on a device is handed what NumPy made: `torch.cuda.FloatTensor(np.zeros(n))`."""
    if len(call.args) != 1 or call.keywords or not is_of_numpy(module, call.args[0]):
        return False
    if not isinstance(call.func, ast.Name):
        return _is_device_type(module, call.func)
    return any(
        _is_device_type(module, each)
        for given in module.all(ast.Assign)
        if call.func.id in stored(given)
        for each in ((given.value.body, given.value.orelse) if isinstance(given.value, ast.IfExp) else (given.value,))
    )


def _is_device_type(module: Module, node: ast.expr) -> bool:
    return _DEVICE_TYPES.match(module.qualified(node) or "") is not None


_DEVICE_TYPES = re.compile(r"torch\.cuda\.\w+Tensor$")


def _through_call(project: "Project", module: Module, node: ast.Call, depth: int) -> ast.Call | None:
    full = module.qualified(node.func) or ""
    if full in _PASSING:
        return made_on_host(project, module, node.args[0], depth + 1) if node.args else None
    if full in _JOINING and node.args:
        first = node.args[0]
        parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first, *node.args[1:]]
        return _of_sides(project, module, parts, depth)
    if last_name(node) not in _SHAPING:
        return node if _is_made_by_own(project, module, node, depth) else None
    rest = [*node.args, *(each.value for each in node.keywords)]
    if full.startswith("torch.") and rest:
        held = rest.pop(0)
    elif isinstance(node.func, ast.Attribute) and not full:
        held = node.func.value
    else:
        return None
    plain = last_name(node) in _OF_ONE_SIZE or all(
        _is_plain(project, module, each) or made_on_host(project, module, each, depth + 1) is not None for each in rest
    )
    return made_on_host(project, module, held, depth + 1) if plain else None


def _is_made_by_own(project: "Project", module: Module, node: ast.Call, depth: int) -> bool:
    """Whether a function of the project gives nothing but what is made so: `torch.randn(n)`."""
    own = project.flow.callees(module, node)
    if len(own) != 1:
        return False
    home, function = own[0]
    if not isinstance(function, Function) or (function.decorator_list and not is_static(function)):
        return False
    given = [each.value for each in home.within(function, ast.Return)]
    table = _is_handed_sizes(project, module, node) and _DEVICES.isdisjoint(home.names_in(function))
    return bool(given) and all(
        each is not None
        and (made_on_host(project, home, each, depth + 1) is not None or (table and _begins(home, function, each)))
        for each in given
    )


def _is_handed_sizes(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether a call is handed numbers alone, a tensor's size among them: what it gives is computed from those."""
    given = [*call.args, *(each.value for each in call.keywords)]
    sized = [each for each in given if _OF_SIZE.match(ast.unparse(each))]
    others = (each for each in given if each not in sized)
    return bool(sized) and all(is_setting(module, each) or is_one_number(project, module, each) for each in others)


_OF_SIZE = re.compile(r"[\w.]+\.(shape\[-?\d+\]|size\(-?\d+\))$")
_DEVICES = frozenset({"device", "cuda", "self", "load", "open"})
"""Names in functions that may give something else than what they compute of their arguments, on the host."""


def _begins(home: Module, function: Function, node: ast.expr, depth: int = 0) -> bool:
    """Whether a function's value goes back to a call that makes a tensor, whatever was put into it since."""
    if depth > DEEPEST:
        return False
    if isinstance(node, ast.Name):
        given = given_above(home, function, node)
        return given is not None and _begins(home, function, given, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    name = (home.qualified(node.func) or "").removeprefix("torch.")
    held = node.func.value if isinstance(node.func, ast.Attribute) and not name else None
    if held is not None and last_name(node) in _SHAPING:
        return _begins(home, function, held, depth + 1)
    return name in _KNOWN | _COPYING


def _of_sides(project: "Project", module: Module, sides: list[ast.expr], depth: int) -> ast.Call | None:
    """What one of several operands was made by, if the others are numbers, or made so too."""
    made = [made_on_host(project, module, each, depth + 1) for each in sides]
    known = all(call is not None or _is_plain(project, module, each) for call, each in zip(made, sides, strict=True))
    return next((each for each in made if each is not None), None) if known else None


def _is_plain(project: "Project", module: Module, node: ast.expr) -> bool:
    """Whether an operand is no tensor, as far as anybody knows."""
    value: Value = project.flow.value(module, node)
    return not value.tags & TENSORS
