"""`literal-eval-batch-size`: training takes its batch size from the configuration, evaluation a number in the code."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.definition import Definition
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.given import argument, is_constant
from flyball_audit.loaders import Loader, loaders, loops_over, named_for
from flyball_audit.module import Function
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.rules.sync_in_eval_loop import TEXT
from flyball_audit.shapes import assigned_before
from flyball_audit.walks import EVALUATION

SMALL = 64
"""Evaluation keeps no activations, so whatever device trains takes more than this; larger literals do little harm."""

NAMES = ("batch_size", "batch", "bs", "bsz", "batchsize")


def look(module: Module, project: Project) -> Iterator[Match]:
    """Small literals in the loaders, and the functions that make batches, of evaluation."""
    found = list(loaders(module, project))
    matches = list(_small(found))
    yield from matches
    told = {each.node for each in matches}
    trained = [each for each in found if not EVALUATION.search(_said_of(each)) and not _only_evaluates(project, each)]
    for each in found:
        size = _literal(each)
        if size is not None and size not in told and _is_one_by_one(project, each, size, trained):
            yield _singly(each, size)
    yield from _of_functions(module, project)


def _small(found: list[Loader]) -> Iterator[Match]:
    """The loaders whose numbers are small beside what training takes from a configuration, or a constant."""
    if any(_is_configured(each) for each in found):
        yield from (_of_loader(each) for each in found if _is_small_literal(each))
    else:
        for each in found:
            largest = max((_named_size(other) for other in found if _is_beside(other, each)), default=0)
            if _is_small_literal(each, below=min(largest // FEWER, SMALL - 1)):
                yield _beside(each, largest)


FEWER = 4
"""How many times smaller than the training's named number a literal is that did not grow with it."""


def _named_size(loader: Loader) -> int:
    """The batch size of a training loader, if a constant of the code has a name for it; else 0."""
    size, value = loader.argument("batch_size"), loader.constant("batch_size")
    named = isinstance(size, ast.Name) and not EVALUATION.search(named_for(loader))
    return value if named and isinstance(value, int) else 0


def _is_beside(first: Loader, second: Loader) -> bool:
    return first.module.function_of(first.call) is second.module.function_of(second.call)


def _is_configured(loader: Loader) -> bool:
    """A training loader whose batch size is no constant."""
    size = loader.argument("batch_size")
    return size is not None and loader.constant("batch_size") is ... and not EVALUATION.search(named_for(loader))


def _is_small_literal(loader: Loader, below: int = SMALL - 1) -> bool:
    size = loader.argument("batch_size")
    value = size.value if isinstance(size, ast.Constant) else None
    if not isinstance(value, int) or not 0 < value <= below or not EVALUATION.search(named_for(loader)):
        return False
    one_by_one = _is_collated(loader) or _generates(loader.module)  # of different sizes, or texts
    return value != 1 or not one_by_one


def _is_collated(loader: Loader) -> bool:
    return loader.argument("collate_fn") is not None and not is_constant(loader.argument("collate_fn"), None)


def _literal(loader: Loader) -> ast.expr | None:
    """The size of a loader's batches; of a variable, or of a choice between training and the rest, what is given."""
    size = loader.argument("batch_size")
    if isinstance(size, ast.Name):
        return assigned_before(loader.module, size) or size
    if isinstance(size, ast.IfExp) and _TRAINING.search(code_of(size.test)):
        return size.body if _is_denied(size.test) else size.orelse
    return size


def _is_denied(test: ast.expr) -> bool:
    """Whether a condition holds where what it asks for is not so: `not train`, `split != "train"`."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _is_one_by_one(project: Project, loader: Loader, size: ast.expr, beside: list[Loader]) -> bool:
    """Whether evaluation takes items singly, as a number in the code says, though nothing tells that it must.

    Where training puts several together, with a function of its own or without, evaluation can as well.
    """
    module, said = loader.module, _said_of(loader)
    chosen = isinstance(loader.argument("batch_size"), ast.IfExp)
    evaluates = chosen or EVALUATION.search(said) or _only_evaluates(project, loader)
    if not is_constant(size, 1) or not evaluates or _TRAINING.search(named_for(loader)):
        return False
    if module.says(_IN_WINDOWS) or any(is_constant(each.argument("batch_size"), 1) for each in beside):
        return False
    return chosen or bool(beside) or _EVALUATES.search(said) is not None


def _only_evaluates(project: Project, loader: Loader) -> bool:
    """Whether all loops over a loader evaluate, whatever it is called."""
    evaluating = {each.node for each in project.loops.evaluation}
    over = [loop for _, loop in loops_over(project, loader)]
    return bool(over) and evaluating.issuperset(over)


def _said_of(loader: Loader) -> str:
    """What a loader, its function and its file are called."""
    function = loader.module.function_of(loader.call)
    own = function.name if function is not None else ""
    return f"{named_for(loader)} {own} {loader.module.name.rpartition('.')[2]}"


_TRAINING = re.compile(r"(?<![a-z])(train|fit)", re.IGNORECASE)
_EVALUATES = re.compile(r"eval|(?<![a-z])(val|valid|validation|infer|inference)(?![a-z])", re.IGNORECASE)
"""In names where no training stands beside: of a test alone, each image may have its own size."""

_IN_WINDOWS = re.compile(r"sliding_?window|sw_batch_size", re.IGNORECASE)
"""One scan at a time is cut into batches of windows."""


def _generates(module: Module) -> bool:
    return any(
        isinstance(each.func, ast.Attribute) and each.func.attr in TEXT - {"sample"} for each in module.all(ast.Call)
    )


def _of_loader(loader: Loader) -> Match:
    size = loader.argument("batch_size")
    assert size is not None  # noqa: S101  it was asked for before
    return _match(loader.module, size, "the training loader takes its batch size from the configuration")


def _beside(loader: Loader, largest: int) -> Match:
    size = loader.argument("batch_size")
    assert size is not None  # noqa: S101  it was asked for before
    return _match(loader.module, size, f"the training uses batches of {largest}, set by a constant in the code")


def _singly(loader: Loader, size: ast.expr) -> Match:
    return Match(
        size,
        f"the evaluation processes {loader.dataset_words} one sample at a time",
        "kernels for one sample take microseconds, less than their launch; without gradients the device has room "
        "for many samples",
        SUSPECTED,
    )


def _of_functions(module: Module, project: Project) -> Iterator[Match]:
    """`get_batch(data, length, 4)` in an evaluation, where the training hands over a setting."""
    named = [each for each in module.functions if EVALUATION.search(each.name) or each.name == "estimate_loss"]
    for call in (call for each in named for call in module.calls_of(each) if _hands_literal(call)):
        for definition in project.flow.callees(module, call):
            if isinstance(definition.node, Function):
                size = _size(definition.node, call)
                value = size.value if isinstance(size, ast.Constant) else None
                if (
                    isinstance(value, int)
                    and 0 < value < SMALL
                    and _is_configured_elsewhere(module, project, definition)
                ):
                    assert size is not None  # noqa: S101  it has a value
                    yield _match(module, size, f"the training passes a setting to `{definition.node.name}`")


def _hands_literal(call: ast.Call) -> bool:
    given = (*call.args, *(each.value for each in call.keywords))
    return any(isinstance(each, ast.Constant) and type(each.value) is int for each in given)


def _size(function: Function, call: ast.Call) -> ast.expr | None:
    """The argument of a call that is the size of a batch, by the function's names."""
    names = [each.arg for each in function.args.args if each.arg != "self"]
    name = next((each for each in names if each in NAMES), None)
    return argument(call, name, names.index(name)) if name is not None else None


def _is_configured_elsewhere(module: Module, project: Project, definition: Definition) -> bool:
    function = definition.node
    if not isinstance(function, Function):
        return False
    for caller, call in project.flow.callers(function.name, definition.module):
        size = _size(function, call)
        around = caller.function_of(call)
        training = around is None or not EVALUATION.search(around.name)
        if training and size is not None and not isinstance(size, ast.Constant) and caller is module:
            return True
    return False


def _match(module: Module, size: ast.expr, because: str) -> Match:
    return Match(size, f"the evaluation uses batches of {module.quote(size)}, a number in the code", because, LIKELY)


RULE = Rule(
    id="literal-eval-batch-size",
    severity=Severity.NOTE,
    summary="The batch size of the evaluation is a small number in the code.",
    cause="It stays small when the configured batch size grows. The evaluation then takes longer than necessary and "
    "delays the training.",
    change="Take it from the configuration too. Without gradients, twice the training's batch size usually fits.",
    expected="evaluation 5 times faster or more for large models with a small training batch",
    source="FARM's maintainers report 5 to 10 times: https://github.com/deepset-ai/FARM/issues/604",
    before="DataLoader(test_set, batch_size=1)",
    after="DataLoader(test_set, batch_size=2 * args.batch_size)",
    look=look,
    gain=Gain(Time.EVALUATION, 5.0),
)
