"""`garbage-collection-every-step`: Python searches all its objects for garbage in every step."""

import ast
from collections.abc import Iterator

from flyball_audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_audit.given import argument
from flyball_audit.guards import Rarity
from flyball_audit.loops import Kind, Turns
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, Match, Rule
from flyball_audit.told import told

_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.RANK})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Collections in the turns of training and evaluation loops."""
    return told(module, project, _in, *Kind)


def _in(project: Project, turns: Turns) -> Iterator[Match]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call) if region.module.says_any(("gc",)) else ():
            collects = region.module.qualified(call.func) == "gc.collect"
            if collects and not _is_of_the_young(call) and region.rarity(call) in _OFTEN:
                yield _match(region, call, f"{turns.module.path}:{turns.node.lineno}")


def _is_of_the_young(call: ast.Call) -> bool:
    """Whether only generations are searched that a step fills anew: microseconds."""
    generation = argument(call, "generation", 0)
    return isinstance(generation, ast.Constant) and generation.value in {0, 1}


def _match(region: Region, call: ast.Call, loop: str) -> Match:
    module = region.module
    statement = module.statement(call)
    alone = isinstance(statement, ast.Expr) and statement.value is call
    return Match(
        call,
        f"`{module.quote(call)}` runs in every step",
        f"each iteration of the loop at {loop} visits all objects of the process",
        CERTAIN,
        module=module,
        edit=Edit((Change(Action.REMOVE, module.span(statement)),)) if alone else None,
    )


RULE = Rule(
    id="garbage-collection-every-step",
    severity=Severity.WARNING,
    summary="Garbage is collected in every step.",
    cause="A full collection visits every object of the process: 80 ms with PyTorch alone, during which no kernel "
    "is launched. Tensors are freed by reference counting and do not need it.",
    change="Remove it. If ranks pause at different steps, call `gc.disable()`, and `gc.collect()` every N steps at "
    "the same step on all ranks.",
    expected="up to 1.7× (108 to 65 s for 250 steps)",
    source="https://github.com/huggingface/peft/pull/2894; the 80 ms are our measurement: Python 3.11 with PyTorch "
    "2.13 imported, one core",
    before="for x in loader:\n    step(x)\n    gc.collect()",
    after="gc.disable()\nfor number, x in enumerate(loader):\n    step(x)\n    if number % 1000 == 0:\n        "
    "gc.collect()",
    look=look,
    gain=Gain(Time.HOST, 1.7),
)
