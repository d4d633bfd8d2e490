"""One walk over a syntax tree, for all that is asked of it again and again."""

import ast
from collections import defaultdict
from collections.abc import Mapping

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

_OPENING = frozenset(SCOPES)

_NO_NODES = frozenset({"ctx", "op", "ops", "names", "type_comment", "type_ignores"})
"""Fields that hold no nodes of interest: contexts and operators are shared by all trees."""


class Index:
    """Nodes by type, parents, and bound names, from one walk over the tree."""

    __slots__ = ("bound", "by_type", "inside", "local_names", "parents", "sorted", "stored")

    def __init__(self, tree: ast.Module) -> None:
        self.by_type: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.bound: dict[ast.AST, set[str]] = defaultdict(set)
        self.stored: dict[ast.AST, list[tuple[str, str]]] = defaultdict(list)
        self.inside: dict[ast.AST, list[ast.AST]] = defaultdict(list)
        self.sorted: dict[ast.AST, dict[type[ast.AST], list[ast.AST]]] = {}
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

    def _walk(self, tree: ast.Module) -> None:
        """Down from the root, in the order of the text; written out in one piece, as it sees every node there is."""
        by_type, parents, bound, inside = self.by_type, self.parents, self.bound, self.inside
        stack: list[tuple[ast.AST, ast.AST, list[ast.AST]]] = [(tree, tree, inside[tree])]
        while stack:
            node, scope, here = stack.pop()
            kind = type(node)
            by_type[kind].append(node)
            if kind is ast.Name:
                if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]  # a Name, as just seen
                    bound[scope].add(node.id)  # type: ignore[attr-defined]
                continue
            here.append(node)
            if kind is ast.Constant:
                continue
            if kind is ast.Attribute:
                held = node.value  # type: ignore[attr-defined]  # an Attribute, as just seen
                if type(node.ctx) is not ast.Load and type(held) is ast.Name:  # type: ignore[attr-defined]
                    self.stored[scope].append((held.id, node.attr))  # type: ignore[attr-defined]
                parents[held] = node
                stack.append((held, scope, here))
                continue
            if kind is ast.arg:
                bound[scope].add(node.arg)  # type: ignore[attr-defined]
            elif kind in _OPENING:
                scope, here = node, inside[node]
            for field in _KNOWN_FIELDS.get(kind) or _fields(kind):
                value = getattr(node, field, None)
                for child in reversed(value) if type(value) is list else (value,):  # the last on comes off first
                    if isinstance(child, ast.AST):
                        parents[child] = node
                        stack.append((child, scope, here))


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
        for field in _KNOWN_FIELDS.get(kind) or _fields(kind):
            value = getattr(node, field, None)
            if type(value) is list:
                stack += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append(value)
    return frozenset(found)


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a type of node that hold nodes, the last one first."""
    found = _KNOWN_FIELDS.get(kind)
    if found is None:
        found = _KNOWN_FIELDS[kind] = tuple(each for each in reversed(kind._fields) if each not in _NO_NODES)
    return found


_KNOWN_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
"""A cache; the parser's types are the same for everyone."""
