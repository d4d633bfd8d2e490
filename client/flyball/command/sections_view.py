"""Sections of a report in the terminal. Their text is never parsed as markup."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.printable import printable
from flyball_reports.section import ReportTable, Section

_NAME_COLUMNS = 14
TONES = {"good": "green", "warning": "yellow", "bad": "red", "plain": ""}


def sections_view(title: str, sections: Sequence[Section]) -> RenderableType:
    """Return the sections below each other; a section without a title continues under that of the report."""
    shown: list[RenderableType] = [Text(printable(title), style="bold")] if title else []
    for section in sections:
        shown += _section(section)
    return Group(*shown)


def _section(section: Section) -> list[RenderableType]:
    tone = TONES.get(section.tone, "")
    shown: list[RenderableType] = [Text(f"\n{printable(section.title)}", style=f"bold {tone}")] if section.title else []
    shown += [Text(printable(paragraph)) for paragraph in section.text]
    shown += [_table(table, "" if section.title else tone) for table in section.tables]
    shown += [Text(printable(line)) for code in section.code for line in code.text.splitlines()]
    shown += [Text(f"• {printable(point)}", style=tone if section.tone != "plain" else "") for point in section.points]
    return shown


def _table(table: ReportTable, tone: str) -> RenderableType:
    shown = Table(box=None, pad_edge=False, header_style="dim", show_header=bool(table.heads), padding=(0, 2, 0, 0))
    width = max((len(row) for row in table.rows), default=len(table.heads))
    for column in range(width):
        head = table.heads[column] if column < len(table.heads) else ""
        figures = column in table.figures
        style = "dim" if not table.heads and column == 0 else tone if not table.heads else ""
        longest = max((len(row[column]) for row in table.rows), default=0)
        least = min(longest, _NAME_COLUMNS) if column == 0 else None  # readable in narrow terminals
        shown.add_column(printable(head), justify="right" if figures else "left", style=style, min_width=least)
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown
