"""Loops that train or evaluate in all likelihood, though what they hand their batches to is not at hand."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_audit.effects import Effect, Effects
from flyball_audit.evaluating import reads_explicitly, reads_outputs
from flyball_audit.flow.values import Tag
from flyball_audit.module import Function, Loop, Module
from flyball_audit.names import code_of
from flyball_audit.regions import Region, is_switched_to_train
from flyball_audit.turn_names import CHECK, NO_STEPS, STEP, TRAINS
from flyball_audit.walks import OF_DATA, first_statement, takes_slices

if TYPE_CHECKING:
    from flyball_audit.project import Project

_BATCHES = re.compile(
    r"(?<![a-z])(data_?)?loader|(?<![a-z])batches|_dl\b|_iter\b|(?<![a-z])data_?iter(ator)?(?![a-z])|(?<![a-z])(val(id(ation)?)?|eval|test)_?data(?![a-z])"
)
_EVALUATES = re.compile(r"(?<![a-z])(eval|val(id)?|test|score|metric|accuracy|measure)")
_OTHER_WALKS = re.compile(r"generat|sampl|export|calibrat|collect|plot|visuali|show|save")
"""In names of functions that go through data once, or for what is needed on the host one by one."""

_ANSWERS = re.compile(r"predict|infer|extract|embed|encod")
"""… for what a model makes of all of it: collected on the device, it comes over at once."""


class UnseenLoops:
    """What the loops of one project do, as far as they tell themselves."""

    def __init__(self, project: "Project", effects: Effects) -> None:
        self._project = project
        self._effects = effects

    def trains(self, module: Module, loop: Loop) -> bool:
        """Whether a loop differentiates, or hands batches to something that is called a step."""
        function = module.function_of(loop)
        if function is not None and NO_STEPS.search(function.name) and not TRAINS.search(function.name):
            return False
        named = function is None or TRAINS.search(function.name) is not None
        inside = self._effects.inside(module, loop)
        if inside == frozenset({Effect.BACKWARD}) or (inside and _empties_gradients(module, loop)):
            return named
        return isinstance(loop, ast.For) and (
            self._hands_on(module, loop, STEP) or self._trains_elsewhere(module, loop)
        )

    def _trains_elsewhere(self, module: Module, loop: ast.For) -> bool:
        """Whether batches, as they are called, are gone through where a model was told to train, or somebody takes its
        optimizer of whom nobody knows anything."""
        records = self._project.flow.records_history(module, first_statement(loop))
        if not records or not _BATCHES.search(code_of(loop.iter)):
            return False
        calls = Region(module, loop).all(ast.Call)
        return is_switched_to_train(module, loop) or any(self._takes_optimizer(module, each) for each in calls)

    def _takes_optimizer(self, module: Module, call: ast.Call) -> bool:
        handed = (*call.args, *(each.value for each in call.keywords))
        flow, named = self._project.flow, (each for each in handed if isinstance(each, ast.Name | ast.Attribute))
        optimizers = any(flow.value(module, each).has(Tag.OPTIMIZER) for each in named)
        return optimizers and not flow.callees(module, call)

    def evaluates(self, module: Module, loop: Loop, *, is_seen: bool) -> bool:
        """Whether a loop goes through what is called batches, and autograd is off, or its function is called a test."""
        function = module.function_of(loop)
        if function is not None and _OTHER_WALKS.search(function.name):
            return False
        if not isinstance(loop, ast.For):
            return self._fetches_for_evaluation(module, loop, function)
        if function is not None and _ANSWERS.search(function.name):
            return self._answers(module, loop)
        if not _goes_through_batches(module, loop):
            return not is_seen and reads_outputs(self._project, self._effects, module, loop)
        named = function is not None and _EVALUATES.search(function.name) is not None
        named = named or self._hands_on(module, loop, CHECK)
        return not self._project.flow.records_history(module, first_statement(loop)) or named

    def _answers(self, module: Module, loop: ast.For) -> bool:
        """Whether a loop over batches brings over, in each turn, what it asks for with autograd off."""
        if not OF_DATA.search(code_of(loop.iter)) and not _goes_through_batches(module, loop):
            return False
        reads = any(reads_explicitly(each) for each in Region(module, loop).all(ast.Call))
        return reads and not self._project.flow.records_history(module, first_statement(loop))

    def _fetches_for_evaluation(self, module: Module, loop: Loop, function: Function | None) -> bool:
        """Whether turns that nothing is gone through for are of what is called an evaluation, and autograd is off."""
        named = function is not None and _EVALUATES.search(function.name) is not None
        return named and not self._project.flow.records_history(module, first_statement(loop))

    def _hands_on(self, module: Module, loop: ast.For, called: re.Pattern[str]) -> bool:
        """Whether what is gone through is handed to a method that is called so, of what nobody knows."""
        targets = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
        for call in Region(module, loop).all(ast.Call):
            if isinstance(call.func, ast.Attribute) and _is_called_so(call.func.attr, called):
                handed = {each.id for part in call.args for each in ast.walk(part) if isinstance(each, ast.Name)}
                if handed & targets and not self._project.flow.callees(module, call):
                    return True
        return False


def _goes_through_batches(module: Module, loop: ast.For) -> bool:
    """Whether a loop goes through what is called batches, or takes slices of one length: `rows[i : i + n]`."""
    return (
        _BATCHES.search(code_of(loop.iter)) is not None
        or "batch" in module.names_in(loop.target)
        or takes_slices(module, loop)
    )


def _is_called_so(name: str, called: re.Pattern[str]) -> bool:
    """Whether a method has such a name; `train` and its like, where they are handed batches, are steps too."""
    if name in _TRAINING:
        return called is STEP
    return called.search(name) is not None and name != "update"


_TRAINING = frozenset({"train", "fit", "learn"})


def _empties_gradients(module: Module, loop: Loop) -> bool:
    """Whether each turn does so: it differentiates too, though by what is not at hand: `model.forward_backward(x)`."""
    methods = (each.func for each in module.repeated(loop, ast.Call) if isinstance(each.func, ast.Attribute))
    return any(each.attr == "zero_grad" for each in methods)
