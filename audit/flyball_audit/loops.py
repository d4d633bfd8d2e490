"""Which loops train, which evaluate, and what runs in each of their turns."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition, is_handed_on
from flyball_audit.effects import Effect, Effects
from flyball_audit.evaluating import runs_models_without_history, trains_on_condition
from flyball_audit.files import is_test_code, is_torch_code
from flyball_audit.flow.derived import iterated_value
from flyball_audit.flow.library import guess
from flyball_audit.flow.values import Tag
from flyball_audit.guards import Rarity
from flyball_audit.hooks import Hook, hooks
from flyball_audit.index import nodes_below
from flyball_audit.module import Function, Loop, Module
from flyball_audit.names import code_of
from flyball_audit.nested import over_batches
from flyball_audit.regions import Region, Root, is_switched_to_eval, model_called, reached
from flyball_audit.unseen import Unseen
from flyball_audit.walks import (
    EVALUATION,
    OF_DATA,
    OF_PARTS,
    fetches_batches,
    first_statement,
    goes_through_kept,
    takes_parts,
)

if TYPE_CHECKING:
    from flyball_audit.project import Project

MODEL_LIBRARIES = (
    "torch", "lightning", "transformers", "accelerate", "deepspeed", "timm", "peft", "segmentation_models", "open_clip",
    "monai", "efficientnet", "diffusers", "composer", "fairseq", "mmengine", "huggingface_hub", ".cuda(", ".to(", "nn.",
)  # fmt: skip
"""Where none of these stands, nothing makes a model that runs on a device."""

STEP_FUNCTION = re.compile(r"step|update|learn|optimi|train|iter|batch|fit", re.IGNORECASE)
"""Names of functions that are one step each, called from a loop that is not among the files."""


class Kind(Enum):
    """What one turn is."""

    STEP = "step"  # backward and the optimizer's step
    EVALUATION = "evaluation"  # forward alone

    __hash__ = object.__hash__  # as for values' tags


@dataclass(frozen=True)
class Turns:
    """A loop that trains or evaluates, or the function that a framework calls for each of its batches."""

    module: Module
    node: Root
    kind: Kind
    hook_of: str | None = None
    """Whose loop calls this function: a library's; "caller": its loop is not among the files."""
    without: tuple[Loop, ...] = ()
    """Loops inside that are looked at by themselves."""

    @property
    def region(self) -> Region:
        """The loop's own body."""
        return Region(self.module, self.node, without=self.without)


SUPPOSED = "supposed"
"""Whose loop is not among the files, and of which only the name or the like tells that there is one."""


PART = "part"
"""The same of a module's methods besides its pass: of these only what their author knew to wait is told."""


class Loops:
    """The loops of one project; every answer is kept."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self.effects = Effects(project)
        self._regions: dict[tuple[Root, tuple[Loop, ...]], tuple[Region, ...]] = {}

    @cached_property
    def training(self) -> tuple[Turns, ...]:
        """Every loop whose turns are steps, micro-steps included where the optimizer steps in the same loop."""
        loops = [
            Turns(module, node, Kind.STEP)
            for module in self._modules
            for node in self.effects.step_loops(module)
            if not self._shares_step(module, node)
        ]
        return (*loops, *self._hooks(Kind.STEP), *self._uncalled(loops))

    @cached_property
    def evaluation(self) -> tuple[Turns, ...]:
        """Every loop that runs a model over batches without training it."""
        loops = [
            Turns(module, node, Kind.EVALUATION)
            for module in self._modules
            if self._may_run_models(module)
            for node in module.loops
            if self._evaluates(module, node)
        ]
        kept = over_batches({each.node: each.module for each in loops}, self._goes_through_batches)
        return (*(each for each in loops if each.node in kept), *self._hooks(Kind.EVALUATION))

    @cached_property
    def supposed(self) -> tuple[Turns, ...]:
        """What runs for each batch in all likelihood, though no loop among the files is seen to run it."""
        regions = [region for each in (*self.training, *self.evaluation) for region in self.regions(each)]
        unseen = Unseen(self._project, self.effects, regions)
        return tuple(
            Turns(module, each.node, Kind.STEP if each.trains else Kind.EVALUATION, PART if each.is_part else SUPPOSED)
            for module in self._modules
            for each in unseen.of(module)
        )

    def regions(self, turns: Turns) -> tuple[Region, ...]:
        """All code that a turn runs: the body and the project's functions that it calls, but no evaluation."""
        key = turns.node, turns.without
        found = self._regions.get(key)
        if found is None:
            found = self._regions[key] = tuple(reached(self._project, turns.region))
        return found

    @cached_property
    def trained(self) -> frozenset[Root]:
        """All loops and functions that run in a training turn."""
        return frozenset(region.root for turns in self.training for region in self.regions(turns))

    def training_of(self, module: Module) -> Iterator[Turns]:
        """The training loops that stand in one module."""
        return iter(self._training_by_module.get(module, ()))

    def around_steps_of(self, module: Module) -> Iterator[Turns]:
        """The loops over batches whose turns make several steps in a loop of their own: what stands beside that."""
        trained = [each.node for each in self.training_of(module)]
        inner: dict[Loop, list[Loop]] = {}
        for node in trained:
            if isinstance(node, Loop) and not self._goes_through_batches(module, node):
                around = next((above for above in module.ancestors(node) if isinstance(above, Root)), None)
                if isinstance(around, Loop) and self._goes_through_batches(module, around):
                    inner.setdefault(around, []).append(node)
        for outer, loops in inner.items():
            function = module.function_of(outer)
            tries = EVALUATION.search(getattr(function, "name", "")) or is_switched_to_eval(module, outer)
            if outer not in trained and not tries:
                yield Turns(module, outer, Kind.STEP, without=tuple(loops))

    def evaluation_of(self, module: Module) -> Iterator[Turns]:
        """The evaluation loops that stand in one module."""
        return iter(self._evaluation_by_module.get(module, ()))

    def supposed_of(self, module: Module, kind: Kind) -> Iterator[Turns]:
        """What runs for each batch of training, or of evaluation, in all likelihood, of one module."""
        return (each for each in self._supposed_by_module.get(module, ()) if each.kind is kind)

    @cached_property
    def _training_by_module(self) -> Mapping[Module, Sequence[Turns]]:
        return _by_module(self.training)

    @cached_property
    def _evaluation_by_module(self) -> Mapping[Module, Sequence[Turns]]:
        return _by_module(self.evaluation)

    @cached_property
    def _supposed_by_module(self) -> Mapping[Module, Sequence[Turns]]:
        return _by_module(self.supposed)

    def accumulates(self, turns: Turns) -> bool:
        """Whether only some turns end with an optimizer's step: the turns are micro-steps."""
        for region in self.regions(turns):
            for call in region.all(ast.Call):
                stepping = Effect.STEP in self.effects.direct(region.module, call)
                if stepping and any(each.rarity is Rarity.ACCUMULATED for each in region.guards(call)):
                    return True
        return False

    @cached_property
    def over_values(self) -> Mapping[ast.Call, list[tuple[Module, ast.For]]]:
        """By the call that made it: the loops over a value, also through `enumerate`, `tqdm` and their like."""
        found: dict[ast.Call, list[tuple[Module, ast.For]]] = {}
        for module in self._modules:
            for loop in module.all(ast.For):
                for each in nodes_below(loop.iter):
                    makers = self._project.flow.value(module, each).makers if isinstance(each, ast.expr) else ()
                    for _, made in makers:
                        found.setdefault(made, []).append((module, loop))
        return found

    def is_micro(self, region: Region, node: ast.AST) -> bool:
        """Whether a node stands in a loop of backward passes that one optimizer step follows."""
        return any(Effect.BACKWARD in self.effects.inside(region.module, each) for each in region.loops(node))

    def is_over_parameters(self, region: Region, node: ast.AST) -> bool:
        """Whether a node stands in a loop, or comprehension, over a model's parameters."""
        around = [each.iter for each in region.loops(node) if isinstance(each, ast.For)]
        for above in region.module.ancestors(node):
            if above is region.root:
                break
            if isinstance(above, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
                around += [each.iter for each in above.generators]
        return any(self.gives_parameters(region.module, each) for each in around)

    def gives_parameters(self, module: Module, iterable: ast.expr) -> bool:
        """Whether iterating gives parameters, their gradients, or pairs with them."""
        each = iterated_value(self._project.flow.value(module, iterable))
        inside = (each, *(each.items or ()))
        return any(part.has(Tag.PARAMETER) or part.has(Tag.GRADIENT) for part in inside)

    @cached_property
    def _modules(self) -> list[Module]:
        return [each for each in self._project.modules.values() if is_torch_code(each) and not is_test_code(each)]

    def _hooks(self, kind: Kind) -> Iterator[Turns]:
        for module, each in self._called_by_frameworks:
            if each.trains is (kind is Kind.STEP):
                yield Turns(module, each.node, kind, each.framework)

    @cached_property
    def _called_by_frameworks(self) -> tuple[tuple[Module, Hook], ...]:
        return tuple((module, each) for module in self._modules for each in hooks(self._project, module))

    def _uncalled(self, loops: list[Turns]) -> Iterator[Turns]:
        """Functions that are a whole step and are called from no loop among the files."""
        reached_already = {region.root for each in loops for region in self.regions(each)}
        for module in self._modules:
            for node in self.effects.step_functions(module):
                if node in reached_already or EVALUATION.search(node.name):
                    continue
                if STEP_FUNCTION.search(node.name) or is_handed_on(Definition(module, node)):
                    yield Turns(module, node, Kind.STEP, "caller")

    def _evaluates(self, module: Module, node: Loop) -> bool:
        if not isinstance(node, ast.For | ast.AsyncFor) or OF_PARTS.search(code_of(node.iter)):
            return False
        function = module.function_of(node)
        by_function = function is not None and only_evaluates(function.name)
        named = by_function or EVALUATION.search(code_of(node.iter)) or is_switched_to_eval(module, node)
        keeps = not named and self._project.flow.records_history(module, first_statement(node))
        if keeps and not runs_models_without_history(self._project, module, node):
            return False
        if self.effects.inside(module, node) and not self._shares_step(module, node):
            return False
        taken = self._gives_batches(module, node) or fetches_batches(module, node)
        if not by_function and not taken and not goes_through_kept(node) and not takes_parts(module, node):
            return False
        return self._runs_model(Turns(module, node, Kind.EVALUATION))

    def _shares_step(self, module: Module, node: Loop) -> bool:
        """Whether a loop evaluates, as it says, by a function that trains on a condition alone."""
        function = module.function_of(node)
        by_function = function is not None and only_evaluates(function.name)
        if not by_function and not (isinstance(node, ast.For) and is_switched_to_eval(module, node)):
            return False
        return trains_on_condition(self._project, self.effects, module, node)

    def _may_run_models(self, module: Module) -> bool:
        """Whether a file, or one that it is connected with, uses a library that makes models."""
        return self._project.speaks_of(module, *MODEL_LIBRARIES)

    def _runs_model(self, turns: Turns) -> bool:
        flow = self._project.flow
        for region in self.regions(turns):
            for call in region.all(ast.Call):
                value = flow.value(region.module, model_called(call))
                runs = value.tags == _CALLED_ON_DEVICE or (
                    value.has(Tag.MODEL) and (not value.has(Tag.CRITERION) or _is_named_model(call))
                )
                runs = runs or (value.is_unknown and self._is_called_model(region.module, call))
                if runs and not self._is_over_batches_within(turns, region, call):
                    return True
        return False

    def _is_called_model(self, module: Module, call: ast.Call) -> bool:
        """Whether what is called is named as models are, and handed what lies on the device."""
        return _is_named_model(call) and self._project.flow.value(module, call).has(Tag.OUTPUT, Tag.DEVICE)

    def _is_over_batches_within(self, turns: Turns, region: Region, call: ast.Call) -> bool:
        """Whether a loop over batches stands between the turn and a call: that one evaluates, this one repeats it."""
        for module, each in (*region.calls, (region.module, call)):
            for above in module.ancestors(each):
                if above is turns.node or isinstance(above, Function):
                    break
                if isinstance(above, ast.For | ast.AsyncFor) and self._gives_batches(module, above):
                    return True
        return False

    def goes_through_batches(self, turns: Turns) -> bool:
        """Whether each turn takes a batch: of what is gone through, or fetched."""
        return self._goes_through_batches(turns.module, turns.node)

    def _goes_through_batches(self, module: Module, node: ast.AST) -> bool:
        over = isinstance(node, ast.For | ast.AsyncFor) and self._gives_batches(module, node)
        return over or (isinstance(node, Loop) and fetches_batches(module, node))

    def _gives_batches(self, module: Module, node: ast.For | ast.AsyncFor) -> bool:
        if OF_DATA.search(code_of(node.iter)) or "batch" in module.names_in(node.target):
            return True
        each = iterated_value(self._project.flow.value(module, node.iter))
        parts = (each, *(each.items or ()))
        return any(part.has(Tag.BATCH) for part in parts)


def _is_named_model(call: ast.Call) -> bool:
    """Whether what is called has a name that models have: a model that gives its losses is one, too."""
    return isinstance(call.func, ast.Name) and guess(call.func.id).has(Tag.MODEL)


def _by_module(turns: Iterable[Turns]) -> Mapping[Module, Sequence[Turns]]:
    found: dict[Module, list[Turns]] = {}
    for each in turns:
        found.setdefault(each.module, []).append(each)
    return found


def only_evaluates(name: str) -> bool:
    """Whether a function's name speaks of evaluation, and of no training beside it: `train_and_validate` does both."""
    return EVALUATION.search(name) is not None and _TRAINING.search(name) is None


_TRAINING = re.compile(r"(?<![a-z])(train|fit)(?![a-z])|train_and|fit_and")


_CALLED_ON_DEVICE = frozenset({Tag.DEVICE})
"""Of what is called: a module of a class that is not at hand, moved to a device. Tensors are not called."""
