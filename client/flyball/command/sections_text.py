"""Sections of a report as plain text, for pipes and files: nothing is coloured, wrapped or cut."""

from collections.abc import Iterator, Sequence

from flyball.command.words import clean
from flyball_reports.section import Section, Table


def sections_text(title: str, sections: Sequence[Section]) -> str:
    """One below the other; the first, which has no title, stands under the report's."""
    lines = [clean(title)] if title else []
    for section in sections:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield from ("", clean(section.title))
    yield from map(clean, section.text)
    for table in section.tables:
        yield from _table(table)
    for code in section.code:
        yield from map(clean, code.text.splitlines())
    yield from (f"• {clean(point)}" for point in section.points)


def _table(table: Table) -> Iterator[str]:
    rows = [tuple(map(clean, row)) for row in (*([table.heads] if table.heads else []), *table.rows)]
    columns = max(map(len, rows), default=0)
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(columns)]
    for row in rows:
        cells = [
            cell.rjust(width) if column in table.figures else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  ".join(cells).rstrip()
