"""Sections as Markdown."""

import re
from collections.abc import Iterator, Sequence

from flyball_planner.report.section import Section, Table

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown(title: str, sections: Sequence[Section]) -> str:
    """A whole document. Charts are for pages; here their numbers stand in tables."""
    lines = [f"# {escaped(title)}", ""]
    for section in sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Text that nothing in Markdown takes for more than text; foreign names may stand in it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield from (f"## {escaped(section.title)}", "")
    for paragraph in section.text:
        yield from (escaped(paragraph), "")
    for table in section.tables:
        yield from _table(table)
        yield ""
    if section.points:
        yield from (f"- {escaped(point)}" for point in section.points)
        yield ""


def _table(table: Table) -> Iterator[str]:
    width = max((len(row) for row in table.rows), default=len(table.heads))
    yield _row(table.heads or ("",) * width)
    yield _row(tuple("---:" if column in table.figures else "---" for column in range(width)), plain=True)
    yield from (_row(row) for row in table.rows)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return "| " + " | ".join(cell if plain else escaped(cell) for cell in cells) + " |"
