"""Sections of a report in the terminal. What they say is text, never markup."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from flyball.command.words import clean
from flyball_reports.section import Section, Table

_NAME_COLUMNS = 14
TONES = {"good": "green", "warning": "yellow", "bad": "red", "plain": ""}


def sections_view(title: str, sections: Sequence[Section]) -> RenderableType:
    """One below the other; the first, which has no title, stands under the report's."""
    shown: list[RenderableType] = [Text(clean(title), style="bold")] if title else []
    for section in sections:
        shown += _section(section)
    return Group(*shown)


def _section(section: Section) -> list[RenderableType]:
    tone = TONES.get(section.tone, "")
    shown: list[RenderableType] = [Text(f"\n{clean(section.title)}", style=f"bold {tone}")] if section.title else []
    shown += [Text(clean(paragraph)) for paragraph in section.text]
    shown += [_table(table, "" if section.title else tone) for table in section.tables]
    shown += [Text(clean(line)) for code in section.code for line in code.text.splitlines()]
    shown += [Text(f"• {clean(point)}", style=tone if section.tone != "plain" else "") for point in section.points]
    return shown


def _table(table: Table, tone: str) -> RenderableType:
    shown = RichTable(box=None, pad_edge=False, header_style="dim", show_header=bool(table.heads), padding=(0, 2, 0, 0))
    width = max((len(row) for row in table.rows), default=len(table.heads))
    for column in range(width):
        head = table.heads[column] if column < len(table.heads) else ""
        figures = column in table.figures
        style = "dim" if not table.heads and column == 0 else tone if not table.heads else ""
        longest = max((len(row[column]) for row in table.rows), default=0)
        least = min(longest, _NAME_COLUMNS) if column == 0 else None  # narrow terminals keep what a row is about
        shown.add_column(clean(head), justify="right" if figures else "left", style=style, min_width=least)
    for row in table.rows:
        shown.add_row(*(Text(clean(cell)) for cell in row))
    return shown
