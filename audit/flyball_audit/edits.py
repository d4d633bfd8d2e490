"""Edits applied to a file's text: only the statements that change are rewritten, the rest stays byte for byte."""

import ast
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flyball_audit.finding import Action, Change, Edit, Span
from flyball_audit.newer import tree_of
from flyball_reports.errors import InputError

_WHOLE = {Action.REPLACE, Action.REMOVE}


class Unplaceable(InputError):
    """A change whose place is not there, or which cannot be made without rewriting more than it names."""


@dataclass(frozen=True)
class Applied:
    """A text after edits: which of them were made, and why the others were not."""

    text: str
    made: tuple[Edit, ...]
    left: tuple[tuple[Edit, str], ...] = ()


def apply(text: str, edits: Iterable[Edit]) -> Applied:
    """Make the edits that do not stand in each other's way and leave text that parses; the first one wins."""
    made: list[Edit] = []
    left: list[tuple[Edit, str]] = []
    result = text
    for edit in edits:
        if edit in made:
            made.append(edit)  # two findings, one change
        elif any(_clash(a, b) for a in edit.changes for each in made for b in each.changes):
            left.append((edit, "another change affects the same code; run the audit again after that change"))
        else:
            try:
                result = _made(text, [*made, edit])
                made.append(edit)
            except Unplaceable as error:
                left.append((edit, str(error)))
    return Applied(result, tuple(made), tuple(left))


def _clash(a: Change, b: Change) -> bool:
    """Whether two changes touch the same code."""
    if a == b:
        return False
    if Action.IMPORT in {a.action, b.action}:
        return False
    if {a.action, b.action} & _WHOLE:
        return _overlap(_touched(a), _touched(b))
    return a.span == b.span and (a.action, a.name) == (b.action, b.name)


def _touched(change: Change) -> Span:
    span = change.span
    if change.action is Action.BEFORE:
        return Span(span.line, span.column, span.line, span.column)
    if change.action is Action.AFTER:
        return Span(span.end_line, span.end_column, span.end_line, span.end_column)
    return span


def _overlap(a: Span, b: Span) -> bool:
    return (a.line, a.column) < (b.end_line, b.end_column) and (b.line, b.column) < (a.end_line, a.end_column)


def _made(text: str, edits: Sequence[Edit]) -> str:
    """The text with all changes of all edits, proven to parse."""
    try:
        from flyball_audit.syntax import rewritten  # noqa: PLC0415  libcst, only where something is changed
    except ModuleNotFoundError as error:
        raise InputError(
            f"cannot change files: {error.name} is not installed. Install it with pip install 'flyball-fleet[planner]'"
        ) from None
    changes = list(dict.fromkeys(change for edit in edits for change in edit.changes))
    lines = split_lines(text)
    tree = _parsed(text)
    blocks = list(_blocks(tree))
    for first, last in reversed(blocks):
        own = [each for each in changes if each.action is not Action.IMPORT and first <= each.span.line <= last]
        if own:
            lines[first - 1 : last] = [rewritten("".join(lines[first - 1 : last]), own, first - 1)]
    outside = [each for each in changes if not any(first <= each.span.line <= last for first, last in blocks)]
    if any(each.action is not Action.IMPORT for each in outside):
        raise Unplaceable("there is no statement at the place of the change")
    imports = [each.text for each in changes if each.action is Action.IMPORT]
    at = _import_line(tree)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    lines[at:at] = [] if not imports else _missing_imports(tree, imports, newline)
    result = "".join(lines)
    _parsed(result)
    return result


def split_lines(text: str) -> list[str]:
    """Lines with their ends, cut where the parser cuts them: form feeds and Unicode's separators cut nothing."""
    return io.StringIO(text, newline="").readlines()


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes were there before
            return tree_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unplaceable(f"the changed file is not valid Python: {error}") from None


def _blocks(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last lines of the statements of the module; those that share a line are one block."""
    current: tuple[int, int] | None = None
    for statement in tree.body:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(each.lineno for each in decorators)])
        last = statement.end_lineno or first
        if current is not None and first <= current[1]:
            current = (current[0], max(last, current[1]))
            continue
        if current is not None:
            yield current
        current = (first, last)
    if current is not None:
        yield current


def _import_line(tree: ast.Module) -> int:
    """The line behind which an import belongs: the last of those at the top, else behind the docstring."""
    line = 0
    for number, statement in enumerate(tree.body):
        docstring = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (docstring or isinstance(statement, ast.Import | ast.ImportFrom)):
            break
        line = statement.end_lineno or line
    return line


def _missing_imports(tree: ast.Module, texts: Iterable[str], newline: str) -> list[str]:
    there = {ast.unparse(each) for each in tree.body}
    return [f"{text}{newline}" for text in dict.fromkeys(texts) if ast.unparse(ast.parse(text).body[0]) not in there]
