"""The code that one turn of a loop runs: its own body, and the functions of the project that it calls."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from flyball_audit.definition import Definition
from flyball_audit.guards import Guard, Rarity, guards
from flyball_audit.index import nodes_below
from flyball_audit.module import Loop, Module, last_name

if TYPE_CHECKING:
    from flyball_audit.project import Project

Node = TypeVar("Node", bound=ast.AST)
Root = ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

DEEPEST = 5
"""Calls that are followed from a loop's body down."""


@dataclass(frozen=True)
class Region:
    """The body of a loop, or of a function that it calls."""

    module: Module
    root: Root
    above: tuple[Guard, ...] = ()
    """Conditions around the calls that lead here."""
    loops_above: int = 0
    """Loops, inside the loop that all is about, around the calls that lead here."""
    calls: tuple[tuple[Module, ast.Call], ...] = ()
    """The calls that lead here, the outermost first."""
    without: tuple[Loop, ...] = ()
    """Loops inside that are looked at by themselves."""

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """The nodes of one type that run: not those of functions and classes defined inside."""
        found = iter(self.module.repeated(self.root, kind))
        return (each for each in found if not self._is_without(each)) if self.without else found

    @property
    def called(self) -> frozenset[str]:
        """The last parts of what is called."""
        return frozenset(last_name(each) for each in self.all(ast.Call))

    def _is_without(self, node: ast.AST) -> bool:
        return node in self.without or not set(self.without).isdisjoint(self.module.ancestors(node))

    def holds(self, node: ast.AST) -> bool:
        """Whether a node belongs to the body itself: not to a loop's iterable, its `else`, a decorator or a default."""
        below = node
        for above in self.module.ancestors(node):
            if above is self.root:
                return _is_repeated(self.root, below)
            below = above
        return False

    def guards(self, node: ast.AST) -> tuple[Guard, ...]:
        """All conditions between the loop that all is about and a node."""
        return guards(self.module, node, self.root) + self.above

    def rarity(self, node: ast.AST) -> Rarity | None:
        """The condition that thins a node out most; None if it runs each turn."""
        found = {each.rarity for each in self.guards(node)}
        return next((each for each in Rarity if each in found), None)

    def loops(self, node: ast.AST) -> tuple[Loop, ...]:
        """The loops inside the region around a node, innermost first."""
        found: list[Loop] = []
        below = node
        for above in self.module.ancestors(node):
            if above is self.root:
                break
            if isinstance(above, Loop) and _is_repeated(above, below):
                found.append(above)
            below = above
        return tuple(found)

    def nesting(self, node: ast.AST) -> int:
        """How many loops there are between the loop that all is about and a node."""
        return len(self.loops(node)) + self.loops_above

    def in_comprehension(self, node: ast.AST) -> bool:
        """Whether a comprehension inside the region runs a node for each element; what it goes through, once."""
        inside: list[ast.AST] = [node]
        for above in self.module.ancestors(node):
            if above is self.root:
                return False
            if isinstance(above, _COMPREHENSIONS) and above.generators[0].iter not in inside:
                return True
            inside.append(above)
        return False


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _is_repeated(root: Root, below: ast.AST) -> bool:
    if isinstance(root, ast.Lambda):
        return below is root.body
    if isinstance(root, ast.While) and below is root.test:
        return True
    return isinstance(below, ast.stmt) and below in root.body


def reached(project: "Project", region: Region, *, barred: Sequence[ast.AST] = ()) -> Iterator[Region]:
    """A region, and those of all functions of the project that it runs, each once, by its least guarded call.

    What stands in `barred` functions is left out.
    """
    seen: dict[ast.AST, Region] = {}
    waiting = [region, *_generated(project, region)]
    while waiting:
        here = waiting.pop(0)
        known = seen.get(here.root)
        if known is not None and len(known.above) <= len(here.above):
            continue
        seen[here.root] = here
        if len(here.calls) < DEEPEST:
            waiting.extend(_called(project, here, barred))
    yield from seen.values()


def _generated(project: "Project", region: Region) -> Iterator[Region]:
    """The loops of the project's generators that give a loop its turns: each is run for one of them."""
    if not isinstance(region.root, ast.For | ast.AsyncFor):
        return
    for call in (each for each in nodes_below(region.root.iter) if isinstance(each, ast.Call)):
        for module, node in project.flow.callees(region.module, call):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(region.calls) < DEEPEST:
                for loop in _giving_loops(module, node):
                    giving = Region(module, loop, calls=(*region.calls, (region.module, call)))
                    yield giving
                    yield from _generated(project, giving)


def _giving_loops(module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Loop]:
    """The innermost loops of a generator that give something in each turn."""
    given = (each for each in module.within(function, ast.Yield) if module.function_of(each) is function)
    around = ((above for above in module.ancestors(each) if isinstance(above, Loop)) for each in given)
    yield from dict.fromkeys(found for each in around if (found := next(each, None)) is not None)


def _called(project: "Project", region: Region, barred: Sequence[ast.AST]) -> Iterator[Region]:
    for call in region.all(ast.Call):
        for module, node in (*project.flow.callees(region.module, call), *_closures(project, region.module, call)):
            if isinstance(node, ast.ClassDef | ast.Lambda) or node in barred:
                continue
            path = (*region.calls, (region.module, call))
            yield Region(module, node, region.guards(call), region.nesting(call), path)


def _closures(project: "Project", module: Module, call: ast.Call) -> Iterator[Definition]:
    """What an optimizer's step is handed to run: `optimizer.step(closure)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _STEPS:
        handed = (*call.args, *(each.value for each in call.keywords if each.arg == "closure"))
        definitions = (project.flow.value(module, each).definition for each in handed if isinstance(each, ast.Name))
        yield from (each for each in definitions if each is not None and not isinstance(each.node, ast.ClassDef))


_STEPS = frozenset({"step", "optimizer_step"})


def is_switched_to_eval(module: Module, node: Loop) -> bool:
    """Whether the last that is said to a model, before a loop or first in each turn, is `model.eval()`."""
    return _switches(node.body[0]) or _last_switch(module, node) == "eval"


def is_switched_to_train(module: Module, node: Loop) -> bool:
    """Whether it is `model.train()`."""
    return _last_switch(module, node) == "train"


def _last_switch(module: Module, node: Loop) -> str | None:
    """Which of both a model is told last, in the block before a loop."""
    above = module.parent(node)
    block: list[ast.stmt] = next((held for field in ("body", "orelse", "finalbody")
                                  if node in (held := getattr(above, field, []))), [])  # fmt: skip
    for each in reversed(block[: block.index(node)] if block else []):
        call = each.value if isinstance(each, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in {"eval", "train"}:
            if any(isinstance(given, ast.Constant) and not given.value for given in call.args):
                return "eval"  # `model.train(False)`
            return "train" if call.func.attr == "train" else None if call.args else "eval"
    return None


def _switches(statement: ast.stmt) -> bool:
    """Whether a statement is `model.eval()`, of each turn."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "eval"


def model_called(call: ast.Call) -> ast.expr:
    """What is run, if it is a model: what is called itself, or that whose `forward…` or `validation_step` is."""
    if isinstance(call.func, ast.Attribute) and (call.func.attr.startswith("forward") or call.func.attr in CHECKS):
        return call.func.value
    return call.func


CHECKS = frozenset({"validation_step", "valid_step", "val_step", "eval_step", "evaluation_step", "test_step"})
"""Methods of models that run them for a batch of an evaluation; of those that are at hand, their code tells."""
