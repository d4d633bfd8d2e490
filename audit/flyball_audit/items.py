"""Loops over items, and the calls in them that are made anew for each item and depend on it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flyball_audit.flow.callees import calls_to
from flyball_audit.flow.values import Tag
from flyball_audit.guards import Rarity, guards
from flyball_audit.module import Function, Module
from flyball_audit.names import code_of
from flyball_audit.samples import is_dataset

if TYPE_CHECKING:
    from flyball_audit.project import Project

Repeating = (
    ast.For
    | ast.AsyncFor
    | ast.While
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
    | ast.FunctionDef
    | ast.Call
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

_TURN = re.compile(r"(?<![a-z])(epoch|step|iteration|attempt|retr|tries|try|fold|round|poll)", re.IGNORECASE)
_TURNS = re.compile(r"(epochs|steps|iterations|attempts|retries|folds|rounds)\b", re.IGNORECASE)
"""The same of what is a time, not a part of something."""

_SELDOM = frozenset({Rarity.PERIODIC, Rarity.RARE, Rarity.ACCUMULATED})
_CACHED = re.compile(r"\bnot in\b|\bis None\b|cache", re.IGNORECASE)


@dataclass(frozen=True)
class Item:
    """A call that stands in a loop over items, and is, or leads to, what was asked about."""

    module: Module
    call: ast.Call
    loop: Repeating
    """The loop; a call that goes through items itself (`map(ask, rows)`); the `__getitem__` of a loader's data set."""
    through: Path = ()
    """The functions between the loop and what was asked about, the innermost first."""
    is_conditional: bool = False
    """Whether a condition in one of these decides if it comes to that: of what kind a path is."""

    @property
    def in_words(self) -> str:
        """Once for each of what."""
        if isinstance(self.loop, ast.FunctionDef):
            return "for each sample of the data set"
        over = _gone_through(self.loop)
        return f"for each of `{self.module.quote(over)}`" if over is not None else "in each iteration"

    def trains(self, project: "Project") -> bool:
        """Whether training waits for it: the loop runs in a training turn, or in a loader's data set."""
        if isinstance(self.loop, ast.FunctionDef):
            return True
        around = {*self.module.ancestors(self.loop), self.loop}
        known, loops = project.connected(self.module), project.loops
        near = [turns for turns in loops.training if turns.module in known]
        return any(region.root in around for turns in near for region in loops.regions(turns))


def _gone_through(loop: Repeating) -> ast.expr | None:
    if isinstance(loop, ast.Call):
        return loop.func.value if isinstance(loop.func, ast.Attribute) else loop.args[1]
    return loop.generators[0].iter if isinstance(loop, _COMPREHENSIONS) else getattr(loop, "iter", None)


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, *_COMPREHENSIONS)


def repeated(
    project: "Project",
    module: Module,
    call: ast.Call,
    through: Path = (),
    *,
    in_chunks: bool = False,
    conditional: bool = False,
) -> Iterator[Item]:
    """The places where a call is made once for each item: in its own function's loop, or in its callers'.

    in_chunks: a chunk or page of something counts as an item, too.
    """
    function = module.function_of(call)
    loops = list(_loops_around(module, call))
    if _is_seldom(module, call, loops[0] if loops else function or module.tree):
        return
    for loop in loops:
        asked = _depends(module, loop, call) or (in_chunks and _asks_again(loop))
        if _is_over_items(project, module, loop, in_chunks=in_chunks) and asked:
            yield Item(module, call, loop, through, conditional)
            return
    if loops:
        return
    if function is None or len(through) >= DEEPEST:
        return
    if (
        isinstance(function, ast.FunctionDef)
        and function.name == "__getitem__"
        and is_dataset(project, module, function)
    ):
        yield Item(module, call, function, through, conditional)
        return
    further = (*through, (module, function))
    conditional = conditional or any(each.rarity is Rarity.OTHER for each in guards(module, call, function))
    for caller, site in calls_to(project.flow, module, function):
        if not isinstance(function, ast.AsyncFunctionDef) or isinstance(caller.parent(site), ast.Await):
            yield from repeated(project, caller, site, further, in_chunks=in_chunks, conditional=conditional)
    yield from (Item(module, each, each, further, conditional) for each in _mapping(module, function))


def _mapping(module: Module, function: Function) -> Iterator[ast.Call]:
    """The file's calls that run a function for one item after the other: `map(ask, rows)`, `table["x"].apply(ask)`."""
    for call in module.calls_named(*_MAPPING):
        handed = code_of(call.args[0]) if call.args else None
        if _maps(module, call) and handed in {function.name, f"self.{function.name}"}:
            yield call


_MAPPING = ("map", "apply", "progress_apply")
"""Python's own, and those of tables; a pool's `map` runs its calls side by side, and `apply` takes their arguments."""


def _maps(module: Module, call: ast.AST | None) -> bool:
    if not isinstance(call, ast.Call) or not call.args:
        return False
    if module.qualified(call.func) == "builtins.map":
        return len(call.args) > 1
    return isinstance(call.func, ast.Attribute) and call.func.attr in _MAPPING[1:] and len(call.args) == 1


def _asks_again(loop: Repeating) -> bool:
    """Whether a loop asks the same some more times, for as many answers: its turns make no use of their number."""
    if not isinstance(loop, ast.For) or isinstance(loop.iter, ast.Tuple | ast.List):
        return False
    return _names(loop.target).isdisjoint({name for each in loop.body for name in _names(each)})


def _loops_around(module: Module, call: ast.Call) -> Iterator[Repeating]:
    """The loops that repeat a call, within its function, the nearest first."""
    node: ast.AST | None = call
    while node is not None:
        node = _loop_around(module, node)
        if node is not None:
            yield node


def _loop_around(module: Module, call: ast.AST) -> Repeating | None:
    """The nearest loop that repeats a call, or another loop, within its function."""
    below: ast.AST = call
    for above in module.ancestors(call):
        if isinstance(above, ast.Lambda):
            around = module.parent(above)
            return around if isinstance(around, ast.Call) and _maps(module, around) else None
        if isinstance(above, Function | ast.ClassDef):
            return None
        if _tries_again(above):
            below = above
            continue
        if isinstance(above, ast.For | ast.AsyncFor) and below in above.body:
            return above
        if isinstance(above, ast.While):
            return above
        if isinstance(above, _COMPREHENSIONS) and below is not above.generators[0]:
            return above
        below = above
    return None


_AGAIN = re.compile(r"(?<![a-z])(attempt|retr|tries|try)|^_$", re.IGNORECASE)


def _tries_again(loop: ast.AST) -> bool:
    """Whether a loop does the same once more where it failed, and is left when it is done; polling asks first."""
    if not isinstance(loop, ast.For | ast.While):
        return False
    if isinstance(loop, ast.For) and not _AGAIN.search(code_of(loop.target)):
        return False
    tries = [each for each in loop.body if isinstance(each, ast.Try)]
    return any(isinstance(each, ast.Break | ast.Return) for one in tries for each in (*one.body, *one.orelse))


def _is_seldom(module: Module, call: ast.Call, root: ast.AST) -> bool:
    found = list(guards(module, call, root))
    return any(each.rarity in _SELDOM or _is_kept(each.test, root) for each in found)


def _is_kept(test: ast.AST, root: ast.AST) -> bool:
    """Whether a condition asks for what was kept of an earlier time; what an item itself lacks, it lacks at first."""
    if not _CACHED.search(code_of(test)):
        return False
    lacks = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and isinstance(test.left, ast.Attribute)
    own = _names(root.target) if isinstance(root, ast.For | ast.AsyncFor) else set()
    return not (lacks and own & _names(test))


def _is_over_items(project: "Project", module: Module, loop: Repeating, *, in_chunks: bool) -> bool:
    if isinstance(loop, ast.Call):
        return True
    if isinstance(loop, ast.While) or any(turns.node is loop for turns in project.loops.training):
        return False
    first = loop.generators[0] if isinstance(loop, _COMPREHENSIONS) else loop
    target, over = getattr(first, "target", None), getattr(first, "iter", None)
    no_item, no_items = (_TURN, _TURNS) if in_chunks else (_NO_ITEM, _NO_ITEMS)
    if target is None or over is None or no_item.search(code_of(target)):
        return False
    if isinstance(over, ast.Tuple | ast.List) and len(over.elts) <= FEW:
        return False
    if isinstance(over, ast.Call) and module.qualified(over.func) == "builtins.range":
        return len(over.args) < 3 and not all(isinstance(each, ast.Constant) for each in over.args)
    return not project.flow.value(module, over).has(Tag.LOADER) and not no_items.search(code_of(over))


def _depends(module: Module, loop: Repeating, call: ast.Call) -> bool:
    """Whether a call is about the item: the loop's target, or what was made of it, is handed over."""
    handed = [*call.args, *(each.value for each in call.keywords)]
    if not handed:
        return True
    first = loop.generators[0] if isinstance(loop, _COMPREHENSIONS) else loop
    target = first.args[0] if isinstance(first, ast.Call) else getattr(first, "target", loop)
    known = {each.arg for each in ast.walk(target) if isinstance(each, ast.arg)} | _names(target)
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
