"""One walk over a syntax tree, for all that is asked of it again and again."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

_OPENING = frozenset(SCOPES)

_REPEATED = frozenset({ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
"""Of these a body runs again and again."""

_SPECIAL = _OPENING | _REPEATED | {ast.arg}
"""Of these a walk keeps more than where they stand."""

_NO_NODES = frozenset({"ctx", "op", "ops", "names", "type_comment", "type_ignores"})
"""Fields that hold no nodes of interest: contexts and operators are shared by all trees."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """By type of node, the fields that hold nodes, the last one first; the parser's types are the same for everyone."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = self[kind] = tuple(each for each in reversed(kind._fields) if each not in _NO_NODES)
        return found


FIELDS = _Fields()


class Index:
    """Nodes by type, parents, and bound names, from one walk over the tree."""

    __slots__ = ("bodies", "bound", "by_type", "inside", "local_names", "parents", "runs", "sorted", "stored")

    def __init__(self, tree: ast.Module) -> None:
        self.by_type: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.bound: dict[ast.AST, set[str]] = defaultdict(set)
        self.stored: dict[ast.AST, list[tuple[str, str]]] = defaultdict(list)
        self.inside: dict[ast.AST, list[ast.AST]] = defaultdict(list)
        self.runs: dict[ast.AST, tuple[list[ast.AST], int, int]] = {}
        """Of each loop and function: its scope's nodes, and where among them those of its body begin and end."""
        self.sorted: dict[ast.AST, dict[type[ast.AST], list[ast.AST]]] = {}
        self.bodies: dict[ast.AST, dict[type[ast.AST], list[ast.AST]]] = {}
        self._walk(tree)
        bodies = (names for scope, names in self.bound.items() if isinstance(scope, SCOPES[:3]))
        self.local_names = frozenset[str]().union(*bodies)

    def of_scope(self, scope: ast.AST) -> Mapping[type[ast.AST], list[ast.AST]]:
        """The nodes of a scope's own body by type, sorted out when someone asks."""
        found = self.sorted.get(scope)
        if found is None:
            found = self.sorted[scope] = defaultdict(list)
            for node in self.inside.get(scope, ()):
                found[type(node)].append(node)
        return found

    def of_body(self, root: ast.AST) -> dict[type[ast.AST], list[ast.AST]]:
        """By type, the nodes that run in each turn of a loop, or call of a function, but those of functions inside it.

        Neither a loop's iterable and `else` belong to it, nor decorators and defaults. Of names nothing is said.
        """
        found = self.bodies.get(root)
        if found is None:
            found = self.bodies[root] = defaultdict(list)
            nodes, start, end = self.runs[root]
            for node in nodes[start:end]:
                found[type(node)].append(node)
        return found

    def _passes(self, mark: "_Mark", here: list[ast.AST]) -> None:
        """Keep where a body begins, or ends, among the nodes of its scope."""
        start = len(here) if mark.begins else self.runs[mark.root][1]
        self.runs[mark.root] = (here, start, len(here))

    def _walk(self, tree: ast.Module) -> None:  # noqa: C901, PLR0912  one piece: it sees every node there is
        """Down from the root, in the order of the text."""
        by_type, parents, bound, inside = self.by_type, self.parents, self.bound, self.inside
        name, constant, attribute, argument, any_node = ast.Name, ast.Constant, ast.Attribute, ast.arg, ast.AST
        scope: ast.AST = tree
        here = inside[tree]
        around: list[ast.AST] = []
        stack: list[Any] = [tree]  # nodes, of types that are asked for first; marks of bodies, None behind a scope
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is _Mark:
                self._passes(node, here)
                continue
            if node is None:  # behind the last node of a scope
                scope = around.pop()
                here = inside[scope]
                continue
            while kind is attribute:  # `a.b.c`, which comes next anyway
                by_type[kind].append(node)
                here.append(node)
                held = node.value
                if type(held) is name and type(node.ctx) is not ast.Load:
                    self.stored[scope].append((held.id, node.attr))
                parents[held] = node
                node, kind = held, type(held)
            by_type[kind].append(node)
            if kind is name:
                if type(node.ctx) is not ast.Load:
                    bound[scope].add(node.id)
                continue
            here.append(node)
            if kind is constant:
                continue
            fields: Iterable[str] = FIELDS[kind]
            if kind in _SPECIAL:
                if kind is argument:
                    bound[scope].add(node.arg)
                elif kind in _OPENING:
                    around.append(scope)
                    stack.append(None)
                    scope, here = node, inside[node]
                fields = _marked(node, kind, stack) if kind in _REPEATED else fields
            for field in fields:
                value = getattr(node, field, None)
                if type(value) is list:
                    for child in reversed(value):  # the last on comes off first
                        if isinstance(child, any_node):
                            parents[child] = node
                            stack.append(child)
                elif isinstance(value, any_node):
                    parents[value] = node
                    stack.append(value)


class _Mark(NamedTuple):
    """Where the body of a loop or function begins, or ends."""

    root: ast.AST
    begins: bool


def _marked(node: ast.AST, kind: type[ast.AST], stack: list[Any]) -> Iterator[str]:
    """The fields of a loop or function, the last first, with marks around what runs again: a condition does, too."""
    for field in FIELDS[kind]:
        if field == "body":
            stack.append(_Mark(node, begins=False))
        yield field
        if field == ("test" if kind is ast.While else "body"):
            stack.append(_Mark(node, begins=True))


def parts_of(node: ast.AST) -> list[ast.AST]:
    """The nodes that a node holds itself, in the order of the text; contexts and operators are none."""
    found: list[ast.AST] = []
    for field in reversed(FIELDS[type(node)]):
        value = getattr(node, field, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def nodes_below(node: ast.AST) -> list[ast.AST]:
    """The nodes in a node, itself first, as `ast.walk` gives them but contexts and operators: in half of its time."""
    found = [node]
    for here in found:  # which grows meanwhile
        for field in reversed(FIELDS[type(here)]):
            value = getattr(here, field, None)
            if type(value) is list:
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def names_below(node: ast.AST) -> frozenset[str]:
    """The variables and attributes in a node, itself included: a third of the time that `ast.walk` takes."""
    found: set[str] = set()
    stack = [node]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            found.add(node.id)  # type: ignore[attr-defined]  # a Name, as just seen
            continue
        if kind is ast.Attribute:
            found.add(node.attr)  # type: ignore[attr-defined]  # an Attribute, as just seen
            stack.append(node.value)  # type: ignore[attr-defined]
            continue
        for field in FIELDS[kind]:
            value = getattr(node, field, None)
            if type(value) is list:
                stack += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append(value)
    return frozenset(found)
