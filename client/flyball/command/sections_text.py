"""Sections of a report as plain text for pipes and files, without colours, wrapping or cuts."""

from collections.abc import Iterator, Sequence

from flyball.command.printable import printable
from flyball_reports.section import ReportTable, Section


def sections_text(title: str, sections: Sequence[Section]) -> str:
    """Return the sections below each other; a section without a title continues under that of the report."""
    lines = [printable(title)] if title else []
    for section in sections:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield from ("", printable(section.title))
    yield from map(printable, section.text)
    for table in section.tables:
        yield from _table(table)
    for code in section.code:
        yield from map(printable, code.text.splitlines())
    yield from (f"• {printable(point)}" for point in section.points)


def _table(table: ReportTable) -> Iterator[str]:
    rows = [tuple(map(printable, row)) for row in (*([table.heads] if table.heads else []), *table.rows)]
    columns = max(map(len, rows), default=0)
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(columns)]
    for row in rows:
        cells = [
            cell.rjust(width) if column in table.figures else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  ".join(cells).rstrip()
