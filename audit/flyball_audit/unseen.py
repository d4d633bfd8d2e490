"""Functions that a loop which is not among the files runs for each batch, as their names tell, or what they do."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flyball_audit import hooks
from flyball_audit.computing import (
    OF_ANSWERS,
    computes,
    is_average_update,
    is_operation,
    is_optimizer_step,
    is_part_of_module,
    takes_any,
)
from flyball_audit.definition import Definition
from flyball_audit.effects import Effects
from flyball_audit.fed import is_fed, is_handed_batch, is_metric, is_of_engine, is_turn_of
from flyball_audit.finding import Severity
from flyball_audit.flow.attributes import is_property
from flyball_audit.flow.library import REGISTERING
from flyball_audit.guards import SELDOM
from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.regions import Region, Root
from flyball_audit.rule import SUSPECTED, Match
from flyball_audit.turn_names import CHECK, NO_STEPS, STEP, TRAINS
from flyball_audit.unseen_loops import UnseenLoops

if TYPE_CHECKING:
    from flyball_audit.project import Project

_OF_EVALUATION = re.compile(r"valid|(?<![a-z])val(?![a-z])|eval|tester|infer|predict", re.IGNORECASE)
"""In names of classes and files whose methods run for each batch of an evaluation."""

_ON_HOST = re.compile(r"transform(?!er)|augment|dataset|tokeni[sz]|preprocess|processor|collat|sampler", re.IGNORECASE)
"""In names of classes and files that prepare data, which nobody moves to a device."""

_COMMON = frozenset({
    "step", "zero_grad", "backward", "forward", "train", "eval", "fit", "run", "main", "close", "reset", "save", "load",
    "log", "get", "items", "keys", "values", "append", "pop", "add", "copy", "to", "cuda", "cpu", "item", "start",
    "stop", "write", "flush", "state_dict", "load_state_dict", "size", "sum", "mean", "sample", "format", "join",
})  # fmt: skip
"""Methods of so many things that a name alone does not say whose it is."""

_READING = frozenset({
    "item", "tolist", "cpu", "numpy", "to", "any", "all", "isnan", "isinf", "isfinite", "equal", "allclose", "float",
    "int", "bool", "print",
})  # fmt: skip
"""Names of calls of which a forward pass has one if it makes the host wait."""


CALLED = "probably runs for each batch, but no loop in these files calls it"


def noted(match: Match, module: Module, root: Root) -> Match:
    """A match in what is only supposed to run for each batch: a note that says so."""
    because = f"`{getattr(root, 'name', 'the loop')}` at {module.path}:{root.lineno} {CALLED}"
    return replace(match, severity=Severity.NOTE, confidence=SUSPECTED, because=because, edit=None)


@dataclass(frozen=True)
class Found:
    """What runs for each batch in all likelihood."""

    module: Module
    node: Function | Loop
    trains: bool
    is_part: bool = False
    """Whether it is a method of a module besides its pass."""


class Unseen:
    """What no loop among the files is seen to run; `regions` are what the seen ones run."""

    def __init__(self, project: "Project", effects: Effects, regions: Sequence[Region]) -> None:
        self._project = project
        self._effects = effects
        self._loops = UnseenLoops(project, effects)
        self._seen = frozenset(each.root for each in regions)
        self._often = frozenset(each.root for each in regions if not _is_seldom(each))
        self._around = frozenset(above for each in regions for above in each.module.ancestors(each.root))
        self._called = frozenset(self._unresolved(regions))
        self._regions = regions

    def of(self, module: Module) -> Iterator[Found]:
        """The functions and loops of one file."""
        if not self._project.flow.uses_torch(module) and not module.frameworks & _RUNNERS:
            return
        doing = frozenset((*self._differentiating(module), *_hooked(self._project, module)))
        for node in module.functions:
            if self._is_seen(module, node) or node in self._around or _ON_HOST.search(_home(module, node)):
                continue
            trains = self._trains(module, node, doing)
            if trains or CHECK.search(node.name) or node.name in hooks.EVALUATION or self._checks(module, node):
                steps = trains or TRAINS.search(node.name) is not None
                yield Found(module, node, steps and not _measures(module, node))
            elif _reads(module, node) and is_part_of_module(self._project, module, node):
                yield Found(module, node, trains=OF_ANSWERS.search(node.name) is None, is_part=True)
        for loop in module.loops:
            if loop not in self._around and not _is_within(module, loop, self._often):
                seen = self._is_seen(module, loop)
                trains = not seen and self._loops.trains(module, loop)
                if trains or self._loops.evaluates(module, loop, is_seen=seen):
                    yield Found(module, loop, trains)

    def _is_seen(self, module: Module, node: ast.AST) -> bool:
        return _is_within(module, node, self._seen)

    def _trains(self, module: Module, node: Function, doing: frozenset[ast.AST]) -> bool:
        if node.name == "forward":
            return self._is_reading_forward(module, node) or is_operation(module, node)
        if is_property(node):
            return self._is_read(module, node)
        if node.name in hooks.TRAINING or (STEP.search(node.name) and takes_any(node)):
            return True
        if _reads(module, node) and is_fed(self._project, module, node):
            return True
        if is_operation(module, node) or is_average_update(module, node):
            return True
        if is_optimizer_step(self._project, module, node):
            return True
        if NO_STEPS.search(node.name):
            return False
        return node in doing or node.name in self._called or self._computes(module, node)

    def _computes(self, module: Module, node: Function) -> bool:
        """Whether it reads, or asks, what it computes with of its arguments."""
        asks = _reads(module, node) or module.within(node, ast.If)
        if not asks or OF_ANSWERS.search(node.name) or not computes(module, node):
            return False
        holder = module.class_of(node)
        return holder is None or not self._project.flow.is_module(Definition(module, holder))

    def _checks(self, module: Module, node: Function) -> bool:
        """Whether it measures what a model gives, or is what an engine of Ignite's runs and does not differentiate."""
        of_engine = is_of_engine(node) and not self._effects.of_function(module, node)
        return of_engine or is_metric(module, node)

    def _is_read(self, module: Module, node: Function) -> bool:
        """Whether a property that may wait is read where a turn is seen to run, in its own file."""
        inside = (each for each in self._regions if each.module is module) if _reads(module, node) else ()
        return any(read.attr == node.name for each in inside for read in each.all(ast.Attribute))

    def _is_reading_forward(self, module: Module, node: Function) -> bool:
        """Whether it is a module's, of which some method may wait."""
        holder = module.class_of(node)
        if holder is None:
            return False
        if not self._project.flow.is_module(Definition(module, holder)) and not is_handed_batch(node):
            return False
        methods = (each for each in holder.body if isinstance(each, Function))
        return any(_reads(module, each) for each in methods if each.name != "__init__")

    def _differentiating(self, module: Module) -> Iterator[Function]:
        """Functions that differentiate, clip or step the optimizer themselves, in no loop of theirs but over parts."""
        names = [each for each in module.called_names if each in _DOING or each.startswith("step")]
        for call in module.calls_named(*names):
            function = module.function_of(call)
            does = last_name(call) in _CLIPPING or self._effects.direct(module, call)
            if function is None or not does or not is_turn_of(module, call, function):
                continue
            if not self._effects.makes_optimizer(module, function):
                yield function

    def _unresolved(self, regions: Iterable[Region]) -> Iterator[str]:
        """Names of methods that turns call of objects that nobody knows, and that the project defines."""
        for region in regions:
            for call in region.all(ast.Call):
                name = last_name(call)
                if not isinstance(call.func, ast.Attribute) or name in _COMMON:
                    continue
                if not self._project.defines(region.module, name) or region.rarity(call) in SELDOM:
                    continue
                unknown = self._project.flow.value(region.module, call.func.value).is_unknown
                if unknown and not self._project.flow.callees(region.module, call):
                    yield name


def _is_within(module: Module, node: ast.AST, roots: frozenset[Root]) -> bool:
    """Whether a node is one of the roots, or stands in one."""
    return node in roots or any(above in roots for above in module.ancestors(node))


def _is_seldom(region: Region) -> bool:
    """Whether turns come to a region behind conditions that seldom hold: an evaluation every N steps."""
    return any(each.rarity in SELDOM for each in region.above)


def _hooked(project: "Project", module: Module) -> Iterator[ast.AST]:
    """Functions that a tensor or a module calls in each pass: `loss.register_hook(raise_if_nan)`."""
    for call in module.calls_named(*REGISTERING):
        for each in call.args:
            handed = project.flow.value(module, each).definition
            if handed is not None and handed.module is module:
                yield handed.node


_CLIPPING = frozenset({"clip_grad_norm_", "clip_grad_norm", "clip_grad_value_"})
_DOING = frozenset({"backward", "manual_backward", "optimizer_step"}) | _CLIPPING
_RUNNERS = frozenset({"ignite", "fastai", "composer"})


def _reads(module: Module, node: Function) -> bool:
    return not module.called_in(node).isdisjoint(_READING)


def _measures(module: Module, node: Function) -> bool:
    """Whether a function's class, file or folder is called an evaluation."""
    return _OF_EVALUATION.search(_home(module, node)) is not None or _FOLDERS.search(module.name) is not None


_FOLDERS = re.compile(r"(^|\.)eval(uation)?\.")


def _home(module: Module, node: Function) -> str:
    """The names of a function's file and class."""
    holder = module.class_of(node)
    return f"{module.name.rpartition('.')[2]} {holder.name if holder is not None else ''}"
