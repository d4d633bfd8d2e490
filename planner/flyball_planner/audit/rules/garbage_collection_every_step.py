"""`garbage-collection-every-step`: Python searches all its objects for garbage in every step."""

import ast
from collections.abc import Iterator

from flyball_planner.audit.finding import Action, Change, Edit, Severity
from flyball_planner.audit.guards import Rarity
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.regions import Region
from flyball_planner.audit.rule import CERTAIN, Match, Rule

_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.RANK})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Collections in the turns of training and evaluation loops."""
    for turns in (*project.loops.training_of(module), *project.loops.evaluation_of(module)):
        for region in project.loops.regions(turns):
            for call in region.all(ast.Call):
                collects = "gc" in region.module.source.text and region.module.qualified(call.func) == "gc.collect"
                if collects and region.rarity(call) in _OFTEN:
                    yield _match(region, call, f"{turns.module.path}:{turns.node.lineno}")


def _match(region: Region, call: ast.Call, loop: str) -> Match:
    module = region.module
    statement = module.statement(call)
    alone = isinstance(statement, ast.Expr) and statement.value is call
    return Match(
        call,
        f"`{module.quote(call)}` in every step",
        f"each turn of the loop at {loop} searches all objects of the process",
        CERTAIN,
        module=module,
        edit=Edit((Change(Action.REMOVE, module.span(statement)),)) if alone else None,
    )


RULE = Rule(
    id="garbage-collection-every-step",
    severity=Severity.WARNING,
    summary="Garbage is collected in every step.",
    cause="A full collection visits every object of the process, some 100 ms with the libraries of a training, and "
    "nothing is launched meanwhile; tensors are freed by counting references and need none.",
    change="Remove it. Against pauses at unlike steps of the ranks: `gc.disable()`, and `gc.collect()` every N steps "
    "at the same step on all of them.",
    expected="up to the whole collection in each step",
    source="Python's documentation of gc; torchtitan collects every 50 steps, on all ranks together",
    before="for x in loader:\n    step(x)\n    gc.collect()",
    after="gc.disable()\nfor number, x in enumerate(loader):\n    step(x)\n    if number % 1000 == 0:\n        "
    "gc.collect()",
    look=look,
)
