"""Functions that code elsewhere runs for each batch, as what they are handed tells, or the class where they stand."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_audit.computing import is_optimizer_step
from flyball_audit.definition import Definition
from flyball_audit.given import named_arguments
from flyball_audit.module import Function, Loop, Module
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.project import Project

_BATCH = re.compile(
    r"^(\w+_)?(batch|mini_?batch|inputs?|targets?|labels?|images?|imgs?|samples?|features|logits|preds?|predictions)"
    r"(_\w+)?$"
)
"""In names of arguments that hold a batch, or what a model makes of one."""

_ONE_TURN = re.compile(
    r"^_?(step|feed(_\w+)?|iterate|iteration|one_(step|batch|iter(ation)?)|(shared|common|model|base|generic|gan)_step"
    r"|forward_(and_)?backward|fwd_bwd|run_(model|on_batch))$"
)
"""In names of functions that are one turn if they are handed a batch; without one they may be anything."""

_OF_LOSS = re.compile(r"loss(es)?(?![a-z])|criteri(on|a)|objective", re.IGNORECASE)
"""In names of classes, files and folders whose instances are called for each batch, whether they are modules or not."""

_CALLED = frozenset({"__call__", "compute", "calculate"})
"""Methods of theirs that are."""

_TURN = re.compile(r"^(forward|(train|training|shared|model)_step|compute_loss)$")
"""Methods of modules; heirs' parts of them run whenever they do."""

_SELDOM = re.compile(r"init|setup|reset|build|create|make|check|valid|load|save|plot|log|repr|sample|generate|fit")
"""In names of parts that a turn may call once, or in other places besides."""


def is_handed_batch(node: Function) -> bool:
    """Whether an argument is called a batch, or what a model makes of one."""
    return any(_BATCH.search(each.arg) for each in named_arguments(node))


def is_metric(module: Module, node: Function) -> bool:
    """Whether a function is called like a measure, or stands among such, and compares what a model gives."""
    holder = module.class_of(node)
    home = f"{module.name.rpartition('.')[2]} {holder.name if holder is not None else ''} {node.name}"
    if _MEASURES.search(home) is None:
        return False
    arguments = [each.arg for each in named_arguments(node)]
    return any(map(_GIVEN.search, arguments)) and any(map(_TRUTHS.search, arguments))


def is_of_engine(node: Function) -> bool:
    """Whether it is called as Ignite calls what its engines run for each batch: `def step(engine, batch)`."""
    names = [each.arg for each in named_arguments(node) if each.arg != "self"]
    return len(names) == 2 and names[0].lstrip("_") == "engine" and _OF_ENGINE.search(names[1]) is not None


_OF_ENGINE = re.compile(r"^_?((mini_?)?batch|data|inputs?|samples?)$")


_MEASURES = re.compile(r"metric|(?<![a-z])scor(e|ing)|accura|precision|recall", re.IGNORECASE)
_GIVEN = re.compile(r"^(y_?)?(preds?|predict\w*|outputs?|logits?|probs?|hat)$|_(preds?|predictions|logits)$")
_TRUTHS = re.compile(r"^(y_?)?(true|targets?|labels?|golds?|gts?|ground_?truths?)$|_(targets?|labels?|gts?)$")
"""In names of arguments: what a model made of a batch, and what it should have been."""


_RECORDER = re.compile(
    r"(Meters?|Metrics?|Logger|Tracker|Monitor|Recorder|Accumulator|Averager?|Log|Stats|Statistics)$"
)
"""In names of classes that keep what each step gives."""

_RECORDS = re.compile(
    r"^_?(__call__|(update|add|log|track|record|push|append|accumulate|collect|observe)"
    r"(_(metrics?|scalars?|values?|loss(es)?|batch|dict|tensors?))?)$"
)
"""In names of methods that hand them over."""


def is_fed(project: "Project", module: Module, node: Function) -> bool:
    """Whether what a function is called and handed, or where it stands, tells that it runs for each batch."""
    if _ONE_TURN.search(node.name) and is_handed_batch(node):
        return True
    holder = module.class_of(node)
    if holder is None:
        return False
    if _RECORDER.search(holder.name) and _RECORDS.search(node.name):
        return True
    if node.name in _CALLED:
        return is_handed_batch(node) and _OF_LOSS.search(f"{module.name} {holder.name}") is not None
    if node.name == "step":
        return is_optimizer_step(project, module, node)
    regular = not node.name.startswith("__") and not _SELDOM.search(node.name)
    return regular and _is_part_of_turn(project, Definition(module, holder), node.name)


def _is_part_of_turn(project: "Project", holder: Definition, name: str) -> bool:
    """Whether a class above calls a method of that name in each of its turns, and has its own."""
    for above in project.flow.lineage(holder):
        if above != holder and isinstance(above.node, ast.ClassDef):
            methods = [each for each in above.node.body if isinstance(each, Function)]
            turns = [each for each in methods if _TURN.search(each.name)]
            calls = any(name in above.module.called_in(each) for each in turns)
            if calls and any(name == each.name for each in methods) and project.flow.is_module(above):
                return True
    return False


def is_turn_of(module: Module, node: ast.AST, function: Function) -> bool:
    """Whether a function comes to a node once a call, or, of one batch that it is handed, some times that it counts."""
    around: list[Loop] = []
    for above in module.ancestors(node):
        if isinstance(above, Function | ast.Lambda):
            break
        if isinstance(above, Loop):
            around.append(above)
    counted = all(isinstance(each, ast.For) and code_of(each.iter).startswith("range(") for each in around)
    return not around or (counted and is_handed_batch(function))
