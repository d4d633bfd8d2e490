"""Whether an expression is a number, a setting or a size, or what NumPy makes of such: no data takes part in it."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_audit.flow.values import Tag
from flyball_audit.given import argument, constant_defaults
from flyball_audit.module import Module, last_name
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.project import Project

_NUMPY = frozenset({
    "zeros", "ones", "full", "eye", "arange", "linspace", "randn", "rand", "randint", "uniform", "normal", "random",
    "standard_normal", "permutation", "random_sample", "tri",
})  # fmt: skip
"""Of NumPy, where `torch.from_numpy` follows."""

_REPEATING = frozenset({"numpy.tile", "numpy.repeat", "numpy.triu", "numpy.tril"})
"""… that make something of such an array without bringing in another."""

TENSORS = frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU, Tag.BATCH, Tag.OUTPUT})
"""What only tensors carry."""

_SETTINGS = re.compile(
    r"^(self\.)?(args|cfg|config|conf|opts?|hparams|hp|settings|params)\."
    r"|^(list\()?[\w.]+\.(shape|size\(\))(\[[-\d:]*\])?\)?$|^len\(\w+\)$"
    r"|^(math|np|numpy|torch)\.(pi|e|inf|finfo\([\w.]+\)\.\w+|nan)$|^float\(['\"][-+]?\w+['\"]\)$"
)

_SIZES = re.compile(r"\.(shape|size\(\))(\[[-\d:]*\])?\)?$")


def is_setting(module: Module, node: ast.expr) -> bool:
    """Whether it is a number in the code, one of a configuration, a size, a default's, or a list of such."""
    if isinstance(node, ast.Constant) or _SETTINGS.match(ast.unparse(node)) is not None:
        return True
    if isinstance(node, ast.UnaryOp):
        return is_setting(module, node.operand)
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(is_setting(module, each) for each in node.elts)
    if isinstance(node, ast.BinOp):
        return _is_repeated(module, node) or (is_setting(module, node.left) and is_setting(module, node.right))
    function = module.function_of(node) if isinstance(node, ast.Name) else None
    return function is not None and isinstance(node, ast.Name) and node.id in _plain_defaults(function)


_DRAWING_SEVERAL = frozenset({"random.choices", "random.sample", "random.choice", "random.randbytes"})
_COUNTING = frozenset({"len", "int", "float", "sum", "min", "max", "round", "item"})
"""What gives one number of the host."""


def is_of_host_numbers(project: "Project", module: Module, node: ast.expr) -> bool:
    """Whether it is a number that the host holds, a short list of such, or one for each of a range."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(is_one_number(project, module, each) for each in node.elts)
    if isinstance(node, ast.ListComp):
        return all(is_range(module, each.iter) for each in node.generators) and is_one_number(project, module, node.elt)
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.List) and isinstance(node.op, ast.Mult):
        return len(node.left.elts) == 1 and is_one_number(project, module, node.left.elts[0])
    part = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)  # of which nobody knows how long it is
    return is_range(module, node) or (not part and is_one_number(project, module, node))


def is_range(module: Module, node: ast.expr) -> bool:
    """Whether it is a range of numbers, or a list of one."""
    if isinstance(node, ast.Call) and last_name(node) == "list" and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Call) and module.qualified(node.func) == "builtins.range"


def is_one_number(project: "Project", module: Module, node: ast.expr) -> bool:
    """Whether an expression is one number, a tensor of one number too: only such may stand side by side in a list."""
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return all(isinstance(each, ast.Name | ast.Attribute) or is_one_number(project, module, each) for each in sides)
    if isinstance(node, ast.Call):
        full = module.qualified(node.func) or ""
        single = full in {"numpy.sum", "numpy.mean"} or (full.startswith("random.") and full not in _DRAWING_SEVERAL)
        return single or last_name(node) in _COUNTING
    several = _SEVERAL.search(code_of(node)) or project.flow.value(module, node).items is not None
    return not several and isinstance(node, ast.Name | ast.Attribute | ast.Constant | ast.Subscript | ast.UnaryOp)


_SEVERAL = re.compile(r"(?<!s)s$|\[.*:.*\]$")
"""At the end of what is called several, or is cut out of such: a list of lists is data; a `loss` is one."""


def _is_repeated(module: Module, node: ast.BinOp) -> bool:
    """Whether a list of one and the same number is as long as there are items: `[0] * n`."""
    if not isinstance(node.op, ast.Mult) or not isinstance(node.left, ast.List) or len(node.left.elts) != 1:
        return False
    only = node.left.elts[0]
    return is_setting(module, only) or (isinstance(only, ast.Attribute) and only.attr.isupper())


def _plain_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The arguments whose defaults are numbers."""
    return {name for name, each in constant_defaults(function).items() if isinstance(each.value, int | float)}


def is_size(node: ast.expr) -> bool:
    """Whether it is a tensor's whole size: `x.shape`, of which a type makes a tensor of that size."""
    return _SIZES.search(ast.unparse(node)) is not None


def is_of_numpy(module: Module, node: ast.expr) -> bool:
    """Whether NumPy makes it of sizes or by chance: `np.random.randn(…)`, `np.zeros(…).astype(…)`."""
    while (
        isinstance(node, ast.Call) and last_name(node) in {"astype", "reshape"} and isinstance(node.func, ast.Attribute)
    ):
        node = node.func.value
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(is_of_numpy(module, each) for each in sides) and all(
            is_of_numpy(module, each) or is_setting(module, each) for each in sides
        )
    full = module.qualified(node.func) or "" if isinstance(node, ast.Call) else ""
    if full in _REPEATING and isinstance(node, ast.Call) and node.args:
        return is_of_numpy(module, node.args[0])
    if full == "numpy.array" and isinstance(node, ast.Call) and len(node.args) == 1:
        return is_range(module, node.args[0])
    if full == "numpy.random.choice" and isinstance(node, ast.Call):
        among = argument(node, "a", 0)
        return among is not None and is_setting(module, among)
    return full.startswith("numpy.") and full.rpartition(".")[2] in _NUMPY
