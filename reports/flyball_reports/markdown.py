"""Sections as Markdown."""

import re
from collections.abc import Iterator, Sequence

from flyball_reports.section import Code, Section, Table

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_CODE_WORDS = re.compile(r"(`[^`]+`)")


def markdown(title: str, sections: Sequence[Section]) -> str:
    """A whole document. Charts are for pages; here their numbers stand in tables."""
    lines = [f"# {escaped(title)}", ""]
    for section in sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Text that nothing in Markdown takes for more than text; foreign names may stand in it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def worded(text: str) -> str:
    """The same, but words between backticks are code; in code nothing has a meaning but a table's bar."""
    parts = _CODE_WORDS.split(" ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts)
    )


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield from (f"{'#' * section.level} {worded(section.title)}", "")
    for paragraph in section.text:
        yield from (worded(paragraph), "")
    for table in section.tables:
        yield from _table(table)
        yield ""
    for code in section.code:
        yield from (_code(code), "")
    if section.points:
        yield from (f"- {'[ ] ' if section.boxes else ''}{worded(point)}" for point in section.points)
        yield ""


def _code(code: Code) -> str:
    """Between fences longer than any in it."""
    longest = max((len(found) for found in re.findall(r"`+", code.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{code.language}\n{code.text.rstrip()}\n{fence}"


def _table(table: Table) -> Iterator[str]:
    width = max((len(row) for row in table.rows), default=len(table.heads))
    yield _row(table.heads or ("",) * width)
    yield _row(tuple("---:" if column in table.figures else "---" for column in range(width)), plain=True)
    yield from (_row(row) for row in table.rows)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return "| " + " | ".join(cell if plain else worded(cell) for cell in cells) + " |"
