"""What makes the host wait for the device: reading a value that lies there."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flyball_audit.extents import in_counts, in_indices, in_memberships, in_slices
from flyball_audit.flow.library import TO_HOST
from flyball_audit.flow.values import UNKNOWN, Tag, Value
from flyball_audit.given import is_constant
from flyball_audit.module import last_name
from flyball_audit.names import code_of, is_name
from flyball_audit.readings import (
    SUPPOSED,
    Look,
    each_read,
    held,
    is_buffer,
    is_non_blocking,
    listed,
    logged,
    moves_to_host,
    number,
    read,
    shown,
    somewhere,
    stored,
    supposed,
)
from flyball_audit.regions import Region
from flyball_audit.wait import ASKED, NUMBERS, Wait

if TYPE_CHECKING:
    from flyball_audit.project import Project


_CONVERSIONS = {
    "builtins.float": "needs {it} as a number on the host",
    "builtins.int": "needs {it} as a number on the host",
    "builtins.bool": "needs the truth value of {it} on the host",
    "builtins.round": "needs {it} as a number on the host",
    "builtins.complex": "needs {it} as a number on the host",
    "builtins.range": "needs {it} as a number on the host",
    "builtins.print": "needs the value of {it} on the host",
    "builtins.str": "needs the value of {it} on the host",
    "builtins.format": "needs the value of {it} on the host",
    "torch.equal": "compares {it} on the host",
    "torch.allclose": "compares {it} on the host",
}

_REPORTING = frozenset({
    "add_scalar", "add_scalars", "add_histogram", "log_metric", "log_metrics", "log_scalar", "set_postfix",
    "set_description", "info", "debug",
})  # fmt: skip
"""Methods of loggers and progress bars that turn what they are handed into numbers or text at once; Lightning's `log`
and `log_dict` keep tensors where they are."""

_BRINGING = re.compile(
    r"^_?((tensors?|torch|t)_?(to|2)_?|to_?|get_?|as_?|detach_(and_|to_)?)(numpy|np|cpu|scalars?|ndarray|host|floats)$"
    r"|^tensor_?(2|to_)(float|list)$|^numpify$"
)
"""In names of functions that give what they are handed on the host."""

_MAKING = frozenset(
    f"torch.{each}"
    for each in ("tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor", "IntTensor", "DoubleTensor")
)
"""What makes a tensor of a list of numbers; of a tensor it makes one without asking for any."""

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
    yield from _in_texts(project, region)
    for entry in region.all(ast.Subscript):
        value = held(project, region, entry.value) if _is_old_reading(entry) else None
        if value is not None and (value.has(Tag.LOSS) or _is_old_score(region, entry)):
            yield Wait(
                entry, "`.data[0]` copies {it} to the host (before PyTorch 0.4; in later versions it fails)", value
            )
    for given in region.all(ast.Assign):
        value = stored(project, region, given)
        if value is not None:
            yield Wait(given.value, "writing {it} into a tensor on the host copies it", value)
    yield from in_slices(project, region)
    yield from in_indices(project, region)
    yield from in_counts(project, region)
    yield from in_memberships(project, region)
    for test in dict.fromkeys(_tests(region)):
        yield from _in_test(project, region, test)


def _in_texts(project: "Project", region: Region) -> Iterator[Wait]:
    for text, parts in _formatted(region):
        value = next((found for each in parts if (found := shown(project, region, each)) is not None), None)
        if value is not None:
            yield Wait(text, "formatting needs the value of {it} on the host", value)


def _tests(region: Region) -> Iterator[ast.expr]:
    """What is asked for a truth value: conditions, and what stands before `and` and `or` anywhere."""
    conditions = (region.all(ast.If), region.all(ast.IfExp), region.all(ast.While), region.all(ast.Assert))
    for asking in (each for kind in conditions for each in kind):
        yield from _operands(asking.test)
    for part in region.all(ast.comprehension):
        for each in part.ifs:
            yield from _operands(each)
    for choice in region.all(ast.BoolOp):
        for each in choice.values[:-1]:
            yield from _operands(each)
    if isinstance(region.root, ast.While):
        yield from _operands(region.root.test)


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


def _is_old_score(region: Region, entry: ast.Subscript) -> bool:
    """Whether a number that is called a score is read by code that is as old as `Variable`."""
    assert isinstance(entry.value, ast.Attribute)  # noqa: S101  the caller asked
    return region.module.says_any(("Variable",)) and _SCORE.search(code_of(entry.value.value)) is not None


_SCORE = re.compile(r"(^|_)(acc|accuracy|err|error|score)$")


def _in_call(project: "Project", region: Region, call: ast.Call) -> Wait | None:
    if isinstance(call.func, ast.Attribute):
        if call.func.attr == "get_scale" and not call.args:
            return Wait(call, "`.get_scale()` of a GradScaler reads the scale from the device", SUPPOSED)
        value = held(project, region, call.func.value) or supposed(project, region, call)
        if value is not None:
            return _in_method(call, call.func.attr, value) or _of_factor(project, region, call)
        if (factor := _of_factor(project, region, call)) is not None:
            return factor
        if call.func.attr in _REPORTING or _is_written(call.func):
            return _of_arguments(project, region, call, "the logger reads the value of {it} at once", logged)
        if call.func.attr == "add_batch":  # of Hugging Face's metrics, which keep tables on the host
            return _of_arguments(project, region, call, "the metric copies {it} to the host", read)
    if call.args and _BRINGING.search(last_name(call)) and not project.flow.callees(region.module, call):
        value = held(project, region, call.args[0])
        if value is not None:
            return Wait(call, "judging by its name, the function copies {it} to the host", value.tagged(Tag.SUPPOSED))
    return _in_function(project, region, call)


def _of_factor(project: "Project", region: Region, call: ast.Call) -> Wait | None:
    """A factor that must be a number: `p.add_(update, alpha=-step_size)` of a tensor reads it."""
    name = last_name(call)
    asked = "alpha" if name in _SCALING else "value" if name.startswith("addc") else None
    given = next((each.value for each in call.keywords if each.arg == asked), None) if asked is not None else None
    value = project.flow.value(region.module, given) if given is not None else UNKNOWN
    if not value.has(Tag.TENSOR) or value.has(Tag.CPU):
        return None
    return Wait(call, f"`{asked}=` must be a number on the host", value if value.is_seen_tensor else SUPPOSED)


_SCALING = frozenset({"add", "add_", "sub", "sub_"})


def _is_written(called: ast.Attribute) -> bool:
    """Whether a writer of summaries is handed something by a method of its own: `writer.add_loss(name, x)`."""
    return _WRITING.search(called.attr) is not None and _WRITERS.search(code_of(called.value)) is not None


_WRITERS = re.compile(r"(?<![a-z])(tb|tensorboard|summary)?_?(writer|summary_writer|tb_logger)$", re.IGNORECASE)
_WRITING = re.compile(r"^(add|write|log)_(loss|losses|scalars?|metrics?|evaluation|value)$")


def _in_method(call: ast.Call, name: str, value: Value) -> Wait | None:
    """What a method does to a tensor on the device, if it waits."""
    if name in TO_HOST and name != "numpy":  # which refuses what is not on the host already
        return Wait(call, f"`.{name}()` copies {{it}} to the host", value)
    if moves_to_host(call) and not is_non_blocking(call):
        return Wait(call, f"`.{name}({'...' if call.args else ''})` copies {{it}} to the host", value)
    return None


def _in_function(project: "Project", region: Region, call: ast.Call) -> Wait | None:
    """What a function of a library does to what it is handed, if it waits."""
    name = region.module.qualified(call.func) or ""
    if name in _CONVERSIONS:
        look = _LOOKS.get(name, number)
        return _of_arguments(project, region, call, f"`{last_name(call)}()` {_CONVERSIONS[name]}", look)
    if name in {"builtins.any", "builtins.all"}:
        return _of_arguments(
            project, region, call, f"`{last_name(call)}()` needs the truth value of {{it}} on the host", each_read
        )
    if name in _LOGGING_FUNCTIONS:
        return _of_arguments(project, region, call, "the logger reads the value of {it} at once", logged)
    if name in _MAKING:
        return _of_arguments(
            project, region, call, f"`{last_name(call)}()` reads the numbers of {{it}} one by one", listed
        )
    if name in _CLIPPING and any(
        each.arg == "error_if_nonfinite" and is_constant(each.value, True) for each in call.keywords
    ):
        return Wait(call, "`error_if_nonfinite=True` checks the norm on the host", SUPPOSED)
    if name.startswith(("numpy.", "math.")):
        taken = read if name.startswith("math.") else held  # of what was moved to the device, settings are numbers
        return _of_arguments(
            project, region, call, f"`{last_name(call)}()` runs on the host and needs the value of {{it}}", taken
        )
    return None


_CLIPPING = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"})


def _of_arguments(
    project: "Project", region: Region, call: ast.Call, does: str, look: "Look | None" = None
) -> Wait | None:
    for each in (*call.args, *(keyword.value for keyword in call.keywords)):
        parts = each.values if isinstance(each, ast.Dict) else [each]
        for part in parts:
            value = (look or held)(project, region, part)
            if value is not None:
                return Wait(call, does, value)
    return None


_LOOKS: dict[str, Look] = {
    "builtins.bool": read, "builtins.print": shown, "builtins.str": shown, "builtins.format": read,
}  # fmt: skip
"""What takes also what is no tensor: a module, a batch of an own class, which lie on the device as well."""


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
        computed = isinstance(test, ast.Call | ast.Compare) or is_buffer(region, test)
        value = held(project, region, test) or (somewhere(project, region, test) if computed else UNKNOWN)
        if value != UNKNOWN and (computed or value.tags & NUMBERS or _is_truth(region, test, value)):
            yield Wait(test, ASKED, value)


def _is_truth(region: Region, test: ast.expr, value: Value) -> bool:
    """Whether a variable was given what a function of PyTorch finds true or not: `broken = torch.isnan(loss)`."""
    if not isinstance(test, ast.Name) or not value.is_seen_tensor:
        return False
    given = (each.value for each in region.all(ast.Assign) if any(is_name(target, test.id) for target in each.targets))
    return any(isinstance(each, ast.Call) and last_name(each) in _TRUTHS for each in given)


_TRUTHS = frozenset({"isnan", "isinf", "isfinite", "any", "all"})
