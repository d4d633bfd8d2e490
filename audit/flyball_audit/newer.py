"""Syntax that is newer than the Python that runs, or older: written as that reads it, so that it parses.

Type parameters (`def first[T](…)`) are blanked, `type Pair = …` becomes an assignment, and f-strings that repeat their
own quotes or go over several lines are quoted three times. `x.cuda(async=True)`, of PyTorch before 0.4 and Python
before 3.7, asks for `non_blocking`. All that stands in the tree stands where it stood.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_DEEPEST = 8
"""How many f-strings may stand in each other."""
_PLAIN = r"""(?:"{3}(?:[^\\]|\\.)*?"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_PREFIX = r"(?<!\w)(?:[rbu]|br|rb)?"
_TOKEN = re.compile(
    rf"""
    (?P<comment>\#[^\n]*)
    | (?P<formatted>(?<!\w)(?P<raw>rf|fr|f)(?P<quote>"{{3}}|'{{3}}|"|'))
    | (?P<plain>{_PREFIX}{_PLAIN})
    | (?P<alias>^[ \t]*type[ \t]+(?=\w+[ \t]*[\[=]))
    | (?P<named>\b(?:def|class)[ \t]+\w+[ \t]*(?=\[))
    | (?P<old_async>(?<=[(,\s])async(?=[ \t]*=(?!=)))
    | (?P<open>[\[({{])
    | (?P<close>[\])}}])
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_IN_FIELDS = re.compile(rf"{_TOKEN.pattern} | (?P<format>:(?!=)) | (?P<escape>\\.)", _TOKEN.flags)


class _OddError(ValueError):
    """No Python of any version that this module knows."""


@dataclass(frozen=True, order=True)
class _Edit:
    start: int
    end: int
    text: str


def tree_of(text: str) -> ast.Module:
    """The syntax tree of a text, whichever Python 3 it is written for; SyntaxError where none would read it."""
    try:
        return ast.parse(text)
    except SyntaxError:
        try:
            edits = sorted(_edits(text))
        except _OddError:
            edits = []
        if not edits:
            raise
        tree = _older(text, edits)
        if tree is None:
            raise
        return tree


def _older(text: str, edits: Sequence[_Edit]) -> ast.Module | None:
    pieces, wider, position, size = [], [], 0, 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.text]
        size += edit.start - position
        if (more := len(edit.text) - (edit.end - edit.start)) > 0:
            wider.append((size, more))
        size += len(edit.text)
        position = edit.end
    older = "".join([*pieces, text[position:]])
    try:
        tree = ast.parse(older)
    except SyntaxError:
        return None
    _Columns.of(older, wider).put_back(tree)
    return tree


@dataclass(frozen=True)
class _Columns:
    """By how many bytes the rest of a line was moved to the right."""

    moved: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Of each line, from which column on, and how far in all."""

    @classmethod
    def of(cls, text: str, wider: Sequence[tuple[int, int]]) -> "_Columns":
        lines = [0, *(found.end() for found in re.finditer("\n", text))]
        columns = cls()
        for at, more in wider:
            line = bisect_right(lines, at)
            here = columns.moved.setdefault(line, [])
            column = len(text[lines[line - 1] : at].encode())
            here.append((column, more + (here[-1][1] if here else 0)))
        return columns

    def put_back(self, tree: ast.Module) -> None:
        """Let every node stand where it stands in the text that somebody wrote."""
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.alias):
                node.col_offset = self._before(node.lineno, node.col_offset)
                if node.end_lineno is not None and node.end_col_offset is not None:
                    node.end_col_offset = self._before(node.end_lineno, node.end_col_offset)

    def _before(self, line: int, column: int) -> int:
        moved = [by for start, by in self.moved.get(line, ()) if start < column]
        return column - moved[-1] if moved else column


def _edits(text: str) -> Iterator[_Edit]:
    """What to change in the code outside of strings and comments."""
    position, depth = 0, 0
    while found := _TOKEN.search(text, position):
        position = found.end()
        if found["formatted"]:
            position, edits = _formatted(text, found)
            yield from edits
        elif found["alias"] and not depth:
            position, edits = _alias(text, found)
            yield from edits
        elif found["old_async"]:
            yield _Edit(found.start(), found.end(), "non_blocking")
        elif found["named"]:
            position = _closed(text, position + 1)
            yield _Edit(found.end(), position, _blank(text[found.end() : position]))
        elif found["open"] or found["close"]:
            depth += 1 if found["open"] else -1


def _alias(text: str, found: re.Match[str]) -> tuple[int, list[_Edit]]:
    """`type Pair[T] = …` as `Pair        = …`."""
    name = re.compile(r"\w+[ \t]*").match(text, found.end())
    if name is None:
        raise _OddError
    end = _closed(text, name.end() + 1) if text.startswith("[", name.end()) else name.end()
    start = found.start() + len(found[0]) - len(found[0].lstrip())
    written = name[0].rstrip()
    return end, [_Edit(start, end, written + _blank(text[start + len(written) : end]))]


def _blank(code: str) -> str:
    """As much white space; lines go on behind their last character."""
    blank = re.sub(r"[^\n]", " ", code)
    return blank.replace(" \n", "\\\n")


def _closed(text: str, position: int) -> int:
    """Where what was opened before the position is closed: behind its bracket."""
    depth = 1
    while found := _TOKEN.search(text, position):
        position = found.end()
        if found["formatted"]:
            position, _ = _formatted(text, found)
        elif found["open"] or found["close"]:
            depth += 1 if found["open"] else -1
            if not depth:
                return position
    raise _OddError


def _formatted(text: str, opened: re.Match[str], deep: int = 0) -> tuple[int, list[_Edit]]:
    """Where an f-string ends, and what to change in it."""
    quote, raw = opened["quote"], "r" in opened["raw"].lower()
    position, edits, of_today = opened.end(), list[_Edit](), True
    while not text.startswith(quote, position):
        if position >= len(text) or (len(quote) == 1 and text[position] == "\n"):
            raise _OddError
        if (text[position] == "\\" and not raw) or text.startswith(("{{", "}}"), position):
            position += 2
        elif text[position] == "{":
            end, inside = _replaced(text, position + 1, deep)
            edits += inside
            of_today &= not (len(quote) == 1 and ("\n" in text[position:end] or quote in text[position:end]))
            position = end
        else:
            position += 1
    end = position + len(quote)
    if not of_today:
        edits += [_Edit(opened.end(), opened.end(), quote * 2), _Edit(position, position, quote * 2)]
    return end, edits


def _replaced(text: str, position: int, deep: int) -> tuple[int, list[_Edit]]:
    """Where a field of an f-string ends, behind its brace, and what to change in it: escapes and comments."""
    depth, edits = 0, list[_Edit]()
    if deep > _DEEPEST:
        raise _OddError
    while found := _IN_FIELDS.search(text, position):
        position = found.end()
        if found["formatted"]:
            position, _ = _formatted(text, found, deep + 1)
            edits += _escapes(text, found.start(), position)
        elif found["plain"] or found["escape"]:
            edits += _escapes(text, found.start(), position)
        elif found["comment"]:
            edits.append(_Edit(found.start(), position, " " * len(found[0])))
        elif found["close"] == "}" and not depth:
            return position, edits
        elif found["open"] or found["close"]:
            depth += 1 if found["open"] else -1
        elif found["format"] and not depth:
            return _format(text, position, deep), edits
    raise _OddError


def _escapes(text: str, start: int, end: int) -> Iterator[_Edit]:
    for found in re.compile(r"\\(.|\n)").finditer(text, start, end):
        yield _Edit(found.start(), found.end(), " \n" if found[1] == "\n" else "//")


def _format(text: str, position: int, deep: int) -> int:
    """Behind the brace that ends a field whose format began before the position; fields may stand in it."""
    while position < len(text) and text[position] != "}":
        position = _replaced(text, position + 1, deep + 1)[0] if text[position] == "{" else position + 1
    return position + 1
