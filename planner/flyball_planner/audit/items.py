"""Loops over items, and the calls in them that are made anew for each item and depend on it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flyball_planner.audit.flow.callees import calls_to
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.guards import Rarity, guards
from flyball_planner.audit.module import Function, Module
from flyball_planner.audit.names import code_of
from flyball_planner.audit.samples import is_dataset

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

Repeating = (
    ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.FunctionDef
)

Path = tuple[tuple[Module, Function], ...]

DEEPEST = 4
"""Functions between a call and the loop that repeats it."""

FEW = 8
"""Elements of a list in the code: so many calls, once, are no matter."""

_NO_ITEM = re.compile(
    r"(?<![a-z])(mini_?|micro_?|data_?)?(batch|chunk|page|shard|loader|epoch|step|iteration|attempt|retr|tries|try|fold|split|"
    r"round|poll)",
    re.IGNORECASE,
)
"""In a loop's variable: each turn is many items already, or the same thing again."""

_NO_ITEMS = re.compile(
    r"(batches|chunks|pages|shards|loaders?|epochs|steps|iterations|attempts|retries|folds|splits|rounds)\b",
    re.IGNORECASE,
)
"""In what it goes through."""

_SELDOM = frozenset({Rarity.PERIODIC, Rarity.RARE, Rarity.ACCUMULATED})
_CACHED = re.compile(r"\bnot in\b|\bis None\b|cache", re.IGNORECASE)


@dataclass(frozen=True)
class Item:
    """A call that stands in a loop over items, and is, or leads to, what was asked about."""

    module: Module
    call: ast.Call
    loop: Repeating
    """The loop; the `__getitem__` of a data set is one too, whose turns a loader makes."""
    through: Path = ()
    """The functions between the loop and what was asked about, the innermost first."""

    @property
    def in_words(self) -> str:
        """Once for each of what."""
        if isinstance(self.loop, ast.FunctionDef):
            return "for each sample that the loader asks for"
        over = (
            self.loop.generators[0].iter if isinstance(self.loop, _COMPREHENSIONS) else getattr(self.loop, "iter", None)
        )
        return f"for each of `{self.module.quote(over)}`" if over is not None else "in each turn"

    def trains(self, project: "Project") -> bool:
        """Whether training waits for it: the loop runs in a training turn, or in a loader's data set."""
        if isinstance(self.loop, ast.FunctionDef):
            return True
        around = {*self.module.ancestors(self.loop), self.loop}
        known, loops = project.connected(self.module), project.loops
        near = [turns for turns in loops.training if turns.module in known]
        return any(region.root in around for turns in near for region in loops.regions(turns))


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, *_COMPREHENSIONS)


def repeated(project: "Project", module: Module, call: ast.Call, through: Path = ()) -> Iterator[Item]:
    """The places where a call is made once for each item: in its own function's loop, or in its callers'."""
    function = module.function_of(call)
    loop = _loop_around(module, call)
    if _is_seldom(module, call, loop or function or module.tree):
        return
    if loop is not None:
        if _is_over_items(project, module, loop) and _depends(module, loop, call):
            yield Item(module, call, loop, through)
        return
    if function is None or isinstance(function, ast.AsyncFunctionDef) or len(through) >= DEEPEST:
        return
    if function.name == "__getitem__" and is_dataset(project, module, function):
        yield Item(module, call, function, through)
        return
    for caller, site in calls_to(project.flow, module, function):
        yield from repeated(project, caller, site, (*through, (module, function)))


def _loop_around(module: Module, call: ast.Call) -> Repeating | None:
    """The nearest loop that repeats a call, within its function."""
    below: ast.AST = call
    for above in module.ancestors(call):
        if isinstance(above, Function | ast.Lambda | ast.ClassDef):
            return None
        if isinstance(above, ast.For | ast.AsyncFor) and below in above.body:
            return above
        if isinstance(above, ast.While):
            return above
        if isinstance(above, _COMPREHENSIONS) and below is not above.generators[0]:
            return above
        below = above
    return None


def _is_seldom(module: Module, call: ast.Call, root: ast.AST) -> bool:
    found = list(guards(module, call, root))
    return any(each.rarity in _SELDOM or _CACHED.search(code_of(each.test)) for each in found)


def _is_over_items(project: "Project", module: Module, loop: Repeating) -> bool:
    if isinstance(loop, ast.While) or any(turns.node is loop for turns in project.loops.training):
        return False
    first = loop.generators[0] if isinstance(loop, _COMPREHENSIONS) else loop
    target, over = getattr(first, "target", None), getattr(first, "iter", None)
    if target is None or over is None or _NO_ITEM.search(code_of(target)):
        return False
    if isinstance(over, ast.Tuple | ast.List) and len(over.elts) <= FEW:
        return False
    if isinstance(over, ast.Call) and module.qualified(over.func) == "builtins.range":
        return len(over.args) < 3 and not all(isinstance(each, ast.Constant) for each in over.args)
    return not project.flow.value(module, over).has(Tag.LOADER) and not _NO_ITEMS.search(code_of(over))


def _depends(module: Module, loop: Repeating, call: ast.Call) -> bool:
    """Whether a call is about the item: the loop's target, or what was made of it, is handed over."""
    handed = [*call.args, *(each.value for each in call.keywords)]
    if not handed:
        return True
    first = loop.generators[0] if isinstance(loop, _COMPREHENSIONS) else loop
    known = _names(getattr(first, "target", loop))
    for _ in range(2):  # an assignment below may lead to one above it
        for assigned in module.all(ast.Assign):
            if loop in module.ancestors(assigned) and _names(assigned.value) & known:
                known |= {name for each in assigned.targets for name in _names(each)}
        for item in module.all(ast.withitem):
            if item.optional_vars is not None and loop in module.ancestors(item) and _names(item.context_expr) & known:
                known |= _names(item.optional_vars)
    return any(_names(each) & known for each in handed)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
