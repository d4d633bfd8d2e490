"""What a loader has run for each sample or batch, and which names in that code follow from what is asked for."""

import ast
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition, method_of
from flyball_audit.flow.callees import is_static
from flyball_audit.given import argument
from flyball_audit.index import nodes_below
from flyball_audit.loaders import loaders
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region, reached

if TYPE_CHECKING:
    from flyball_audit.project import Project

_DATASETS = re.compile(r"^torch\.utils\.data\.|(Dataset|DatasetFolder|ImageFolder)$")
_NAMED_SO = re.compile(r"data|set$", re.IGNORECASE)

_CHANGING = re.compile(
    r"rand|choice|choose|sample|shuffl|perm|^next$|^pop|^get$|^get_nowait$|^draw|^fetch|^recv|^BytesIO$|^StringIO$",
    re.IGNORECASE,
)
"""In names of calls: each gives something else."""

_ADDING = frozenset({"append", "add", "insert", "extend", "update"})

ROUNDS = 4
"""Assignments that feed one another from below upwards: more than anybody writes."""


@dataclass(frozen=True)
class Sample:
    """Code that runs for each sample, or each batch, that a loader makes."""

    region: Region
    maker: Function
    """The data set's `__getitem__`, or the function that puts a batch together."""
    handed: frozenset[str]
    """The arguments of the region's function that follow from what is asked for."""

    @property
    def functions(self) -> list[Function]:
        """The functions on the way to the region, its own the last."""
        return _on_the_way(self.region)

    def following(self, before: int | None = None) -> frozenset[str]:
        """The names that follow from what is asked for, or change from call to call; those made above a line alone."""
        return closure(self.region.root, self.handed, before)


def samples(module: Module, project: "Project") -> Iterator[Sample]:
    """What runs for each item of a module's data sets, and for each batch of its loaders."""
    for home, maker, asked in (*_items(module, project), *_collating(module, project)):
        for region in reached(project, Region(home, maker)):
            yield Sample(region, maker, _handed(region, frozenset(asked)))


def is_dataset(project: "Project", module: Module, function: Function) -> bool:
    """Whether a method is one of a data set: by what its class derives from, or by its name and its `__len__`."""
    holder = module.class_of(function)
    if holder is None:
        return False
    if any(_DATASETS.search(each) for each in project.flow.bases(Definition(module, holder))):
        return True
    return _NAMED_SO.search(holder.name) is not None and method_of(holder, "__len__") is not None


def _items(module: Module, project: "Project") -> Iterator[tuple[Module, Function, list[str]]]:
    for each in module.functions:
        if each.name == "__getitem__" and is_dataset(project, module, each):
            yield module, each, [argument.arg for argument in each.args.args[1:2]]


def _collating(module: Module, project: "Project") -> Iterator[tuple[Module, Function, list[str]]]:
    if "collate_fn" not in module.source.text:
        return
    for loader in loaders(module, project):
        definition = dict(loader.values)["collate_fn"].definition if loader.argument("collate_fn") else None
        if definition is not None and isinstance(definition.node, Function):
            yield definition.module, definition.node, [each.arg for each in definition.node.args.args[-1:]]


def _on_the_way(region: Region) -> list[Function]:
    around = [module.function_of(call) for module, call in region.calls]
    return [each for each in (*around, region.root) if isinstance(each, Function)]


def _handed(region: Region, asked: frozenset[str]) -> frozenset[str]:
    """The arguments that follow from what is asked for, from call to call down to the region."""
    functions = _on_the_way(region)
    for (_, call), caller, called in zip(region.calls, functions, functions[1:], strict=False):
        known = closure(caller, asked, None)
        asked = frozenset(_bound(call, called, known))
    return asked


def _bound(call: ast.Call, called: Function, known: Set[str]) -> Iterator[str]:
    """The arguments of a function to which a call hands what follows from known names."""
    names = [each.arg for each in (*called.args.posonlyargs, *called.args.args)]
    own = 1 if names[:1] in (["self"], ["cls"]) and not is_static(called) else 0
    for place, name in enumerate(names[own:]):
        given = argument(call, name, place)
        if given is not None and follows(given, known):
            yield name
    yield from (each.arg for each in called.args.kwonlyargs if _follows(argument(call, each.arg), known))
    hidden = [*(each for each in call.args if isinstance(each, ast.Starred))]
    hidden_keywords = [each.value for each in call.keywords if each.arg is None]
    if any(follows(each, known) for each in (*hidden, *hidden_keywords)):
        yield from names[own:]


def _follows(node: ast.expr | None, known: Set[str]) -> bool:
    return node is not None and follows(node, known)


def follows(node: ast.AST, known: Set[str]) -> bool:
    """Whether an expression speaks of one of some names, or of what changes from call to call."""
    for each in nodes_below(node):
        if isinstance(each, ast.Name | ast.Attribute) and _text(each) in known:
            return True
        if isinstance(each, ast.Call) and _CHANGING.search(last_name(each)):
            return True
    return False


def closure(body: ast.AST, known: Set[str], before: int | None) -> frozenset[str]:
    """What assignments, loops and `with` make of names; of those that stand above a line, if one is given."""
    given = [
        (targets, value)
        for each in nodes_below(body)
        for targets, value in _given(each)
        if before is None or (value.end_lineno or value.lineno) < before
    ]
    found = set(known)
    for _ in range(ROUNDS):
        size = len(found)
        for targets, value in given:
            if follows(value, found):
                found |= {name for target in targets for name in _targets(target)}
        if len(found) == size:
            break
    return frozenset(found)


def _given(node: ast.AST) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """What a node gives values, and the value."""
    if isinstance(node, ast.Assign):
        yield node.targets, node.value
    elif isinstance(node, _GIVING) and node.value is not None:
        yield [node.target], node.value
    elif isinstance(node, _GOING_THROUGH):
        yield [node.target], node.iter
        if isinstance(node, ast.For):
            yield from (([node.target], test) for test in _ending(node))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield [node.optional_vars], node.context_expr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        yield from (([node.func.value], each) for each in node.args)


_GIVING = (ast.AugAssign, ast.NamedExpr, ast.AnnAssign)
_GOING_THROUGH = (ast.For, ast.comprehension)


def _ending(loop: ast.For) -> Iterator[ast.expr]:
    """The conditions by which a loop is left, or goes on: they choose which of its turns is meant."""
    for each in nodes_below(loop):
        if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Break | ast.Continue | ast.Return):
            yield each.test


def _targets(target: ast.expr) -> Iterator[str]:
    """The variables and attributes that a target gives values, or puts something into."""
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _targets(each)
    elif isinstance(target, ast.Starred | ast.Subscript):
        yield from _targets(target.value)
    elif isinstance(target, ast.Name | ast.Attribute):
        yield _text(target)


def _text(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else code_of(node)
