"""Backward passes of a turn with several updates, each with a forward pass of its own."""

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flyball_audit.effects import Effect
from flyball_audit.flow.values import Tag
from flyball_audit.loops import Turns
from flyball_audit.module import Module
from flyball_audit.regions import Region, model_called

if TYPE_CHECKING:
    from flyball_audit.project import Project


def of_their_own(project: "Project", turns: Turns) -> Iterator[ast.Call]:
    """The backward passes in branches of a turn that run the model, differentiate once, and hand nothing on."""
    region = turns.region
    found = [
        call
        for call in region.all(ast.Call)
        if Effect.BACKWARD in project.loops.effects.direct(region.module, call) and isinstance(call.func, ast.Attribute)
    ]
    for call in found if len(found) > 1 else ():
        branch = _branch(region, call)
        inside = {part for each in branch for part in ast.walk(each)}
        others = [each for each in found if each is not call]
        if branch and not inside & set(others):
            made = _made_in(project, region.module, branch, call)
            if made and not any(_is_handed_on(region, name, inside, call) for name in made):
                yield call


def _branch(region: Region, node: ast.expr) -> Sequence[ast.stmt]:
    """The statements of the nearest `if` or `else` around a node; none if something else is nearer."""
    below: ast.AST = node
    for above in region.module.ancestors(node):
        if above is region.root:
            break
        if isinstance(above, ast.If):
            return above.body if below in above.body else above.orelse
        if isinstance(above, ast.For | ast.While | ast.Try):
            break
        below = above
    return ()


def _made_in(project: "Project", module: Module, branch: Sequence[ast.stmt], call: ast.Call) -> set[str]:
    """The variables that the branch makes on the way from a model to a loss; none if the loss comes from elsewhere."""
    assert isinstance(call.func, ast.Attribute)  # noqa: S101  the caller asked
    above = [each for each in branch if isinstance(each, ast.Assign) and each.lineno < call.lineno]
    wanted, runs = set(module.names_in(call.func.value)), False
    made: set[str] = set()
    for assigned in reversed(above):
        stored = {name for target in assigned.targets for name in module.names_in(target)}
        if wanted & stored:
            made |= stored
            calls = [each for each in ast.walk(assigned.value) if isinstance(each, ast.Call)]
            runs = runs or any(project.flow.value(module, model_called(each)).has(Tag.MODEL) for each in calls)
            wanted |= set(module.names_in(assigned.value))
    return made if runs and set(module.names_in(call.func.value)) <= made else set()


def _is_handed_on(region: Region, name: str, inside: set[ast.AST], call: ast.Call) -> bool:
    """Whether what a branch made is used below it, before it is made anew in another."""
    passed = inside | _others(region, call)
    uses = (each for each in ast.walk(region.root) if isinstance(each, ast.Name) and each.id == name)
    below = (each for each in uses if each.lineno > call.lineno and each not in passed)
    return any(isinstance(each.ctx, ast.Load) and not _is_made_anew(region, each) for each in below)


def _others(region: Region, call: ast.Call) -> set[ast.AST]:
    """What a turn that comes to a call does not run: the other arms of the conditions around it."""
    found: set[ast.AST] = set()
    below: ast.AST = call
    for above in region.module.ancestors(call):
        if above is region.root:
            break
        if isinstance(above, ast.If):
            other = above.orelse if below in above.body else above.body
            found |= {part for each in other for part in ast.walk(each)}
        below = above
    return found


def _is_made_anew(region: Region, use: ast.Name) -> bool:
    branch = _branch(region, use) or getattr(region.root, "body", ())
    given = (each for each in branch if isinstance(each, ast.Assign) and each.lineno < use.lineno)
    stored = {part.id for each in given for target in each.targets for part in ast.walk(target)
              if isinstance(part, ast.Name)}  # fmt: skip
    return use.id in stored
