"""The lines of code around a finding, with a mark below what is meant."""

import re
import unicodedata
from dataclasses import dataclass

from flyball_audit.finding import Finding
from flyball_audit.source import Source

_BEFORE, _AFTER = 2, 1  # lines around it: enough to see the loop that it stands in
_TAB = "    "
_COMMENT = re.compile(r"\s#[^'\"]*$")  # behind the first line of a statement of several; quotes may hold a #
_LONGEST = 120  # characters of a line; more would wrap, and its mark with it


@dataclass(frozen=True)
class Frame:
    """Lines of a file with their numbers; the marked one has a mark below some of its columns."""

    first: int
    lines: tuple[str, ...]
    marked: int
    """Which of the lines, from 0."""
    indent: int
    """Columns of a terminal before the mark."""
    width: int

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What stands left of the bar, and right of it."""
        digits = len(str(self.first + len(self.lines) - 1))
        rows = [(f"{self.first + number:>{digits}}", line) for number, line in enumerate(self.lines)]
        rows.insert(self.marked + 1, (" " * digits, " " * self.indent + "^" * self.width))
        return tuple(rows)

    def text(self) -> str:
        """All of it as text."""
        return "\n".join(f"{left} | {right}".rstrip() for left, right in self.rows())


def frame(finding: Finding, source: Source | None, longest: int = _LONGEST) -> Frame | None:
    """The frame of a finding; None where its file has no such line."""
    lines = _lines(finding, source)
    at = finding.line - 1
    if not 0 <= at < len(lines):
        return None
    first, last = max(0, at - _BEFORE), min(len(lines), at + 1 + _AFTER)
    shown = list(lines[first:last])
    while shown and not shown[-1].strip() and first + len(shown) - 1 > at:
        shown.pop()
    while not shown[0].strip() and first < at:
        shown.pop(0)
        first += 1
    end = finding.end_column - 1 if finding.end_line == finding.line else len(_COMMENT.sub("", lines[at]).rstrip())
    before, meant = _plain(lines[at][: finding.column - 1]), _plain(lines[at][finding.column - 1 : end])
    start = max(0, min(len(before), len(before) + len(meant) - longest))
    return Frame(
        first=first + 1,
        lines=tuple(_cut(_plain(line), start, longest) for line in shown),
        marked=at - first,
        indent=_cells(before[start:]),
        width=max(1, min(_cells(meant), longest)),
    )


def _lines(finding: Finding, source: Source | None) -> list[str]:
    """The lines of the file, or of the finding's cell."""
    if source is None:
        return []
    lines = source.text.split("\n")
    if finding.cell is None:
        return lines
    starts = (*source.cells, len(lines) + 1)
    return lines[starts[finding.cell - 1] - 1 : starts[finding.cell] - 1] if finding.cell < len(starts) else []


def _plain(text: str) -> str:
    """Without what would steer a terminal or shift the mark."""
    return "".join(c if c.isprintable() else "�" for c in text.replace("\t", _TAB))


def _cells(text: str) -> int:
    """Columns of a terminal: East Asian characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in {"W", "F"} else 1 for c in text
    )


def _cut(text: str, start: int, longest: int) -> str:
    part = text[start : start + longest].rstrip()
    return f"…{part[1:]}" if start and part else part if len(text) - start <= longest else f"{part[:-1]}…"
