"""What makes the host wait for the device: reading a value that lies there."""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from flyball_planner.audit.flow.library import TO_HOST
from flyball_planner.audit.flow.values import UNKNOWN, Tag, Value
from flyball_planner.audit.given import is_constant
from flyball_planner.audit.module import last_name
from flyball_planner.audit.regions import Region

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project


class Wait(NamedTuple):
    """An expression that waits, and what it does to the value."""

    node: ast.expr
    does: str
    value: Value

    @property
    def is_explicit(self) -> bool:
        """Whether a method is called that only tensors and arrays have: the code's author knew what it is."""
        return isinstance(self.node, ast.Call) and isinstance(self.node.func, ast.Attribute) and self._name in _METHODS

    @property
    def is_plain(self) -> bool:
        """Whether the code itself says that a tensor is read, whatever is known of the value."""
        return self.is_explicit or self.value == _SUPPOSED

    @property
    def copies(self) -> bool:
        """Whether a tensor's whole contents are brought over, whatever its size."""
        return isinstance(self.node, ast.Call) and self._name in _COPYING

    @property
    def reads_number(self) -> bool:
        """Whether a single number is asked for, or a truth value."""
        return self.does == ASKED or (isinstance(self.node, ast.Call) and self._name in _NUMBER_OF)

    @property
    def _name(self) -> str:
        return last_name(self.node) if isinstance(self.node, ast.Call) else ""


ASKED = "a condition asks it for a truth value"

_METHODS = TO_HOST | {"cpu"}
_COPYING = frozenset({"cpu", "numpy", "tolist", "to"})
_NUMBER_OF = frozenset({"item", "float", "int", "bool", "round", "equal", "allclose"})

_CONVERSIONS = {
    "builtins.float": "turns it into a number",
    "builtins.int": "turns it into a number",
    "builtins.bool": "turns it into a truth value",
    "builtins.round": "turns it into a number",
    "builtins.complex": "turns it into a number",
    "builtins.range": "turns it into a number",
    "builtins.print": "prints it",
    "builtins.str": "turns it into text",
    "builtins.format": "turns it into text",
    "torch.equal": "compares on the host",
    "torch.allclose": "compares on the host",
}

_REPORTING = frozenset({
    "add_scalar", "add_scalars", "add_histogram", "log_metric", "log_metrics", "log_scalar", "set_postfix",
    "set_description", "info", "debug",
})  # fmt: skip
"""Methods of loggers and progress bars that turn what they are handed into numbers or text at once; Lightning's `log`
and `log_dict` keep tensors where they are."""

_LOGGING_FUNCTIONS = frozenset(
    {"wandb.log", "mlflow.log_metric", "mlflow.log_metrics", "logging.info", "logging.debug"}
)


def waits(project: "Project", region: Region) -> Iterator[Wait]:
    """The expressions of a region that wait for the device; what is pickled must come to the host."""
    if any((region.module.qualified(each.func) or "").startswith("pickle.") for each in region.all(ast.Call)):
        return
    for call in region.all(ast.Call):
        found = _in_call(project, region, call)
        if found is not None:
            yield found
    for text, parts in _formatted(region):
        value = next((held for each in parts if (held := _shown(project, region, each)) is not None), None)
        if value is not None:
            yield Wait(text, "formatting turns it into text", value)
    for entry in region.all(ast.Subscript):
        value = _held(project, region, entry.value) if _is_old_reading(entry) else None
        if value is not None and value.has(Tag.LOSS):
            yield Wait(entry, "`.data[0]` copies it to the host (in PyTorch before 0.4; later it fails)", value)
    tests = [each.test for each in region.all(ast.If)] + [each.test for each in region.all(ast.IfExp)]
    tests += [each.test for each in region.all(ast.While)] + [each.test for each in region.all(ast.Assert)]
    tests += [test for each in region.all(ast.comprehension) for test in each.ifs]
    asked = [each for test in tests for each in _operands(test)]
    before = [each for choice in region.all(ast.BoolOp) for each in choice.values[:-1] if each not in asked]
    for test in (*asked, *(each for part in before for each in _operands(part) if each not in asked)):
        yield from _in_test(project, region, test)
    if isinstance(region.root, ast.While):
        for test in _operands(region.root.test):
            yield from _in_test(project, region, test)


def _formatted(region: Region) -> Iterator[tuple[ast.expr, Sequence[ast.expr]]]:
    """Texts with values put in, in Python's three ways of doing it, each with those values."""
    for text in region.all(ast.JoinedStr):
        yield text, [each.value for each in text.values if isinstance(each, ast.FormattedValue)]
    for operation in region.all(ast.BinOp):
        if isinstance(operation.op, ast.Mod) and _is_text(operation.left):
            right = operation.right
            yield operation, right.elts if isinstance(right, ast.Tuple) else [right]
    for call in region.all(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "format" and _is_text(call.func.value):
            yield call, [*call.args, *(each.value for each in call.keywords)]


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):  # `"%9s" * 2 + "%9.4g"`
        return _is_text(node.left)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_old_reading(entry: ast.Subscript) -> bool:
    """`loss.data[0]`, as code reads a loss that was written before `.item()` was there."""
    return is_constant(entry.slice, 0) and isinstance(entry.value, ast.Attribute) and entry.value.attr == "data"


def _in_call(project: "Project", region: Region, call: ast.Call) -> Wait | None:
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
        held = _held(project, region, call.func.value) or _supposed(project, region, call)
        if held is not None and name in TO_HOST and name != "numpy":  # which refuses what is not on the host already
            return Wait(call, f"`.{name}()` copies it to the host", held)
        if held is not None and _moves_to_host(call) and not _is_non_blocking(call):
            return Wait(call, f"`.{name}({'...' if call.args else ''})` copies it to the host", held)
        if held is not None:
            return None
        if name in _REPORTING:
            return _of_arguments(project, region, call, "hands it to a logger, which reads it at once", _logged)
    name = region.module.qualified(call.func) or ""
    if name in _CONVERSIONS:
        look = _LOOKS.get(name, _held)
        return _of_arguments(project, region, call, f"`{last_name(call)}()` {_CONVERSIONS[name]}", look)
    if name in {"builtins.any", "builtins.all"}:
        return _of_arguments(project, region, call, f"`{last_name(call)}()` asks it for a truth value", _each_read)
    if name in _LOGGING_FUNCTIONS:
        return _of_arguments(project, region, call, "hands it to a logger, which reads it at once", _logged)
    if name.startswith(("numpy.", "math.")):
        return _of_arguments(project, region, call, f"`{last_name(call)}()` computes on the host")
    return None


def _of_arguments(
    project: "Project", region: Region, call: ast.Call, does: str, look: "Look | None" = None
) -> Wait | None:
    for each in (*call.args, *(keyword.value for keyword in call.keywords)):
        parts = each.values if isinstance(each, ast.Dict) else [each]
        for part in parts:
            held = (look or _held)(project, region, part)
            if held is not None:
                return Wait(call, does, held)
    return None


def _held(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The value of an expression, if it is a tensor on the device."""
    value = project.flow.value(region.module, node)
    return value if value.on_device and not value.tags & {Tag.MODEL, Tag.LOADER} else None


def _supposed(project: "Project", region: Region, call: ast.Call) -> Value | None:
    """What nobody knows, or where it lies, but is called a method of that only tensors have that may wait."""
    if not isinstance(call.func, ast.Attribute) or not _reads_tensor(call, call.func):
        return None
    value = project.flow.value(region.module, call.func.value)
    return _SUPPOSED if value.is_unknown or _is_somewhere(value) else None


def _reads_tensor(call: ast.Call, called: ast.Attribute) -> bool:
    if called.attr == "to":
        return _moves_to_host(call)
    if call.args or call.keywords:
        return False
    return called.attr in _OF_TENSORS_ALONE or (called.attr == "tolist" and _is_detached(called.value))


def _is_detached(node: ast.expr) -> bool:
    """Whether a chain of methods goes through `.detach()` or `.data`, which arrays have none of."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr in {"detach", "data"}:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def _is_somewhere(value: Value) -> bool:
    """Whether it is a tensor of which nothing tells where it lies."""
    return Tag.TENSOR in value.tags and not value.tags & _PLACES


_PLACES = frozenset({Tag.DEVICE, Tag.CPU, Tag.HOST, Tag.BATCH})


def _somewhere(project: "Project", region: Region, node: ast.expr) -> Value:
    """What PyTorch computes of what nobody knows, or `.any()`, `.all()` of it: a tensor, wherever it lies."""
    value = project.flow.value(region.module, node)
    if _is_somewhere(value):
        return _SUPPOSED
    asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"any", "all"}
    if not asks or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return UNKNOWN
    return _SUPPOSED if project.flow.value(region.module, node.func.value).is_unknown else UNKNOWN


_OF_TENSORS_ALONE = frozenset({"item", "cpu"})
_SUPPOSED = Value(frozenset({Tag.TENSOR, Tag.SUPPOSED}))


def _read(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The same where anything may be handed over: only what is seen to be a tensor, or to come of a computation."""
    value = _held(project, region, node)
    return value if value is not None and value.tags & _OF_TENSORS else None


_OF_TENSORS = frozenset({Tag.TENSOR, Tag.LOSS, Tag.GRADIENT, Tag.NORM, Tag.OUTPUT, Tag.BATCH})


def _shown(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The same of a list or dict, too: its text is that of all that it holds."""
    inner = node.value if isinstance(node, ast.Starred) else node
    return _read(project, region, inner) or _inside(project, region, inner, _OF_TENSORS)


def _logged(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """A tensor on the device, or a dict or list of such: a logger goes through it."""
    return _held(project, region, node) or _inside(project, region, node, _OF_TENSORS)


def _inside(project: "Project", region: Region, node: ast.expr, wanted: frozenset[Tag]) -> Value | None:
    """The first tensor on the device among what a container holds."""
    value = project.flow.value(region.module, node)
    if value.tags or value.is_instance:
        return None
    held = (*(value.items or ()), *(each for _, each in value.fields), *((value.element,) if value.element else ()))
    found = (each for each in held if each.on_device and each.tags & wanted)
    return next((each for each in found if not each.tags & {Tag.MODEL, Tag.LOADER}), None)


def _each_read(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """What going through a generator or list of tensors asks for a truth value, one by one."""
    if not isinstance(node, ast.GeneratorExp | ast.ListComp):
        return None
    value = _held(project, region, node.elt)
    return value if value is not None and value.has(Tag.TENSOR) else None


Look = Callable[["Project", Region, ast.expr], Value | None]
"""How it is told whether an argument is a tensor on the device."""

_LOOKS: dict[str, Look] = {
    "builtins.bool": _read, "builtins.print": _shown, "builtins.str": _shown, "builtins.format": _read,
}  # fmt: skip
"""What takes also what is no tensor: a module, a batch of an own class, which lie on the device as well."""


def _moves_to_host(call: ast.Call) -> bool:
    name = last_name(call)
    first = call.args[0] if call.args else None
    return name == "cpu" or (name == "to" and isinstance(first, ast.Constant) and first.value == "cpu")


def _is_non_blocking(call: ast.Call) -> bool:
    return any(each.arg == "non_blocking" and not is_constant(each.value, False) for each in call.keywords)


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """What a condition asks for a truth value: behind `not`, and on both sides of `and` and `or`."""
    if isinstance(test, ast.BoolOp):
        for each in test.values:
            yield from _operands(each)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _in_test(project: "Project", region: Region, test: ast.expr) -> Iterator[Wait]:
    """A part of a condition that is a tensor: Python asks it for a truth value."""
    if region.holds(test) and isinstance(test, ast.Call | ast.Compare | ast.Name | ast.Attribute):
        computed = isinstance(test, ast.Call | ast.Compare)
        value = _held(project, region, test) or (_somewhere(project, region, test) if computed else UNKNOWN)
        if value != UNKNOWN and (computed or value.tags & NUMBERS):
            yield Wait(test, ASKED, value)


NUMBERS = frozenset({Tag.LOSS, Tag.NORM})
"""Single numbers, whose truth may be asked for by their name alone; of a list of tensors that asks if it is empty."""


def told(region: Region, wait: Wait) -> str:
    """What is waited for, in words."""
    kinds = ((Tag.LOSS, "a loss"), (Tag.NORM, "a norm of gradients"), (Tag.GRADIENT, "a gradient"),
             (Tag.PARAMETER, "a parameter"), (Tag.OUTPUT, "what the model gives"))  # fmt: skip
    what = next((words for tag, words in kinds if wait.value.has(tag)), "a tensor")
    return f"`{region.module.quote(wait.node)}` waits for the device: {what} on it, {wait.does}"
