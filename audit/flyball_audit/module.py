"""One file's syntax tree, indexed once: nodes by type, parents, the names that each scope binds."""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from flyball_audit.finding import Span
from flyball_audit.index import SCOPES, Index, names_below
from flyball_audit.source import Source
from flyball_audit.words import holds_any, stands_in, vocabulary

if TYPE_CHECKING:
    from flyball_audit.guards import Guard
    from flyball_audit.project import Project

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
Import = ast.Import | ast.ImportFrom
Node = TypeVar("Node", bound=ast.AST)


_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""Fields that hold statements."""

_SIMPLE = frozenset({ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Pass})
"""Most statements: they hold no others."""

_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_WITH_LOCALS = _FUNCTIONS | {ast.Lambda}
_SCOPES = frozenset(SCOPES)
_THROUGH = frozenset({ast.If, ast.Try, ast.With})
"""Types of nodes, looked up several times quicker than instances of several types are asked for."""

LONGEST_TEXT = 60
"""Characters of code that a message quotes."""


class Module:
    """One file that was read; a value: nothing in it changes after it was made."""

    def __init__(self, source: Source, tree: ast.Module, name: str, project: "Project") -> None:
        self.source = source
        self.path = source.path
        self.tree = tree
        self.name = name
        """Dotted, from the folder that all audited files share."""
        self.is_package = PurePath(source.path).stem == "__init__"
        self._project = project
        self.conditions: dict[tuple[ast.AST, ast.AST], tuple[Guard, ...]] = {}
        """Between two nodes, as far as `guards` was asked for them."""
        self._said: dict[re.Pattern[str], bool] = {}
        self._spoken: dict[tuple[str, ...], bool] = {}
        self._qualified: dict[ast.AST, str | None] = {}
        self._names: dict[ast.AST, frozenset[str]] = {}
        self._called: dict[ast.AST, frozenset[str]] = {}

    def __repr__(self) -> str:
        return f"Module({self.name})"

    def all(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of one type, in the order of the text."""
        return self._index.by_type.get(kind, ())  # type: ignore[return-value]  # kept by type

    @cached_property
    def functions(self) -> Sequence[Function]:
        """All functions and methods."""
        found: list[Function] = [*self.all(ast.FunctionDef), *self.all(ast.AsyncFunctionDef)]
        return sorted(found, key=lambda each: each.lineno)

    @cached_property
    def loops(self) -> Sequence[Loop]:
        """All loops; comprehensions are none."""
        found: list[Loop] = [*self.all(ast.For), *self.all(ast.AsyncFor), *self.all(ast.While)]
        return sorted(found, key=lambda each: (each.lineno, each.col_offset))

    @cached_property
    def imports(self) -> Sequence[Import]:
        """All imports, in the order of the text; found by a walk over statements alone, which is quick."""
        found: list[Import] = []
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Import):
                found.append(node)
            elif type(node) not in _SIMPLE:
                waiting.extend(each for field in _BLOCKS for each in getattr(node, field, ()))
        return sorted(found, key=lambda each: (each.lineno, each.col_offset))

    @property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """Of each node, the one that holds it."""
        return self._index.parents

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds this one."""
        return self._index.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around this one, from the nearest to the module."""
        parents = self._index.parents
        above = parents.get(node)
        while above is not None:
            yield above
            above = parents.get(above)

    def function_of(self, node: ast.AST) -> Function | None:
        """The nearest function around a node."""
        parents = self._index.parents
        above = parents.get(node)
        while above is not None and type(above) not in _FUNCTIONS:
            above = parents.get(above)
        return above  # type: ignore[return-value]  # as just seen

    def class_of(self, function: ast.AST) -> ast.ClassDef | None:
        """The class whose method a function is."""
        parents = self._index.parents
        above = parents.get(function)
        while type(above) in _THROUGH:
            above = parents.get(above)  # type: ignore[arg-type]  # a node, as just seen
        return above if isinstance(above, ast.ClassDef) else None

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is, or belongs to."""
        above: ast.AST | None = node
        while above is not None and not isinstance(above, ast.stmt):
            above = self.parent(above)
        if above is None:
            raise ValueError(f"{ast.dump(node)} is in no statement of {self.path}")
        return above

    def binds(self, scope: ast.AST, name: str) -> bool:
        """Whether a function, class or module gives a name a value itself (imports and definitions aside)."""
        return name in self.bound_names(scope)

    def bound_names(self, scope: ast.AST) -> Collection[str]:
        """The names that a function, class or module gives values itself."""
        return self._index.bound.get(scope, ())

    def is_local(self, node: ast.AST, name: str) -> bool:
        """Whether a name is a variable or an argument of a function around a node."""
        if name not in self._index.local_names:
            return False
        parents, bound = self._index.parents, self._index.bound
        above = parents.get(node)
        while above is not None:
            if type(above) in _WITH_LOCALS and name in bound.get(above, ()):
                return True
            above = parents.get(above)
        return False

    def calls_of(self, scope: ast.AST) -> Sequence[ast.Call]:
        """The calls in a function's, class's or module's own body, those of inner functions aside."""
        return self.within(scope, ast.Call)

    def called_in(self, scope: ast.AST) -> frozenset[str]:
        """The last parts of what a function's, class's or module's own body calls."""
        found = self._called.get(scope)
        if found is None:
            found = self._called[scope] = frozenset(map(last_name, self.within(scope, ast.Call)))
        return found

    def calls_named(self, *names: str) -> Iterator[ast.Call]:
        """The calls whose last part is one of some names: `step` of `self.optimizer.step()`."""
        for name in names:
            yield from self._calls_by_name.get(name, ())

    @property
    def called_names(self) -> Collection[str]:
        """The last parts of all that is called."""
        return self._calls_by_name.keys()

    @cached_property
    def _calls_by_name(self) -> Mapping[str, Sequence[ast.Call]]:
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for call in self.all(ast.Call):
            found[last_name(call)].append(call)
        return found

    def within(self, scope: ast.AST, kind: type[Node]) -> Sequence[Node]:
        """The nodes of one type in a function's, class's or module's own body, inner functions and classes aside."""
        return self._index.of_scope(scope).get(kind, ())  # type: ignore[return-value]  # kept by type

    def repeated(self, root: ast.AST, kind: type[Node]) -> Sequence[Node]:
        """The nodes of one type that run each time that a loop's or function's body does: `Index.of_body`."""
        index = self._index
        found = index.bodies.get(root)
        if found is None:
            found = index.of_body(root)
        return found.get(kind, ())  # type: ignore[return-value]  # kept by type

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The nearest function, lambda or class around a node, or the module."""
        parents = self._index.parents
        above = parents.get(node)
        while above is not None and type(above) not in _SCOPES:
            above = parents.get(above)
        return self.tree if above is None else above

    def stored_attributes(self, scope: ast.AST) -> Sequence[tuple[str, str]]:
        """The attributes of names that a function gives values itself, as pairs of name and attribute."""
        return self._index.stored.get(scope, ())

    def qualified(self, node: ast.AST) -> str | None:
        """The dotted name that an expression stands for, wherever it was imported from; None for computed values.

        `F.gelu` is `torch.nn.functional.gelu`, `print` is `builtins.print`, and what the project defines begins with
        the name of its module. Variables of functions have none: `project.flow` knows them.
        """
        if node not in self._qualified:
            self._qualified[node] = self._project.names.qualified(self, node)
        return self._qualified[node]

    def names_in(self, node: ast.AST) -> frozenset[str]:
        """The variables and attributes that an expression or statement speaks of; kept: rules ask again and again."""
        found = self._names.get(node)
        if found is None:
            found = self._names[node] = names_below(node)
        return found

    @cached_property
    def frameworks(self) -> frozenset[str]:
        """Which libraries that run the training the file uses: torch, lightning, transformers, accelerate, …"""
        return self._project.names.frameworks(self)

    @cached_property
    def lines(self) -> list[str]:
        """The text, cut as the parser counts lines."""
        return self.source.text.split("\n")

    def says(self, words: re.Pattern[str]) -> bool:
        """Whether words stand anywhere in the text."""
        found = self._said.get(words)
        if found is None:
            found = self._said[words] = stands_in(words, self.source.text)
        return found

    def says_any(self, words: Iterable[str]) -> bool:
        """Whether one of some texts stands anywhere in the file: many times quicker than a pattern."""
        key = tuple(words)
        found = self._spoken.get(key)
        if found is None:
            found = self._spoken[key] = holds_any(self.source.text, self._vocabulary, key)
        return found

    def column(self, line: int, offset: int) -> int:
        """A column as people count, in characters from 1, of the parser's offset in bytes."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="replace")) + 1

    def span(self, node: ast.stmt | ast.expr | ast.keyword) -> Span:
        """Where a node stands."""
        end_line = node.end_lineno or node.lineno
        end = self.column(end_line, node.end_col_offset or node.col_offset)
        return Span(node.lineno, self.column(node.lineno, node.col_offset), end_line, end)

    def quote(self, node: ast.AST) -> str:
        """The code of a node on one line, without comments, cut to what a message bears."""
        line, row = getattr(node, "lineno", 0), b""
        if 0 < line <= len(self.lines) and getattr(node, "end_lineno", None) == line:
            row = self.lines[line - 1].encode()[getattr(node, "col_offset", 0) : getattr(node, "end_col_offset", None)]
        text = " ".join((row.decode(errors="replace") or ast.unparse(node)).split())
        return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"

    @cached_property
    def _vocabulary(self) -> str:
        return vocabulary(self.source.text)

    @cached_property
    def _index(self) -> Index:
        return Index(self.tree)


def last_name(call: ast.Call) -> str:
    """The last part of what is called: `step` of `self.optimizer.step()`."""
    called = call.func
    if type(called) is ast.Attribute:
        return called.attr
    return called.id if type(called) is ast.Name else ""
