"""Sections of a report in the terminal. Their text is never parsed as markup, and never cut."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.printable import printable
from flyball_reports.section import ReportTable, Section

_NAME_COLUMNS = 14
_LONGEST_NAME = 28  # as Standard_ND96amsr_A100_v4; a broken name cannot be copied, so that figures are wrapped first
_USUAL_COLUMNS = 80
TONES = {"good": "green", "warning": "yellow", "bad": "red", "plain": ""}


def sections_view(title: str, sections: Sequence[Section], columns: int = _USUAL_COLUMNS) -> RenderableType:
    """Return the sections below each other; a section without a title continues under that of the report."""
    shown: list[RenderableType] = [Text(printable(title), style="bold")] if title else []
    for section in sections:
        shown += _section(section, columns)
    return Group(*shown)


def _section(section: Section, columns: int) -> list[RenderableType]:
    tone = TONES.get(section.tone, "")
    shown: list[RenderableType] = [Text(f"\n{printable(section.title)}", style=f"bold {tone}")] if section.title else []
    shown += [Text(printable(paragraph)) for paragraph in section.text]
    shown += [_table(table, "" if section.title else tone, columns) for table in section.tables]
    shown += [Text(printable(line)) for code in section.code for line in code.text.splitlines()]
    return shown + [_point(point, tone if section.tone != "plain" else "") for point in section.points]


def _point(text: str, style: str) -> Table:
    """Return a grid, so that wrapped lines are indented."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text("•", style=style), Text(printable(text), style=style))
    return grid


def _table(table: ReportTable, tone: str, columns: int) -> RenderableType:
    """Return a table that fits the terminal: text is wrapped first, and figures only if that is not enough."""
    cells = [[printable(row[column]) for row in table.rows if column < len(row)] for column in range(_width(table))]
    heads = [*map(printable, table.heads), *[""] * len(cells)][: len(cells)]
    longest = [max(map(len, [head, *column])) for head, column in zip(heads, cells, strict=True)]
    gap = 2 if sum(longest) + 2 * len(cells) <= columns else 1
    words = [_longest_word(head, column, _NAME_COLUMNS) for head, column in zip(heads, cells, strict=True)]
    names = [_longest_word(head, column, _LONGEST_NAME) for head, column in zip(heads, cells, strict=True)]
    whole = [longest[column] if column in table.figures else names[column] for column in range(len(cells))]
    widths = _fitted(longest, (whole, names, words), columns - gap * len(cells))
    shown = Table(box=None, pad_edge=False, header_style="dim", show_header=bool(table.heads), padding=(0, gap, 0, 0))
    for column, head in enumerate(heads):
        figures = column in table.figures
        style = "dim" if not table.heads and column == 0 else tone if not table.heads else ""
        shown.add_column(
            head, justify="right" if figures else "left", style=style, width=widths[column], overflow="fold"
        )
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown


def _width(table: ReportTable) -> int:
    return max((len(row) for row in table.rows), default=len(table.heads))


def _longest_word(head: str, cells: Sequence[str], most: int) -> int:
    """Return the width of the longest word, as far as a narrow terminal allows."""
    words = [word for text in cells for word in text.split()]
    return max([min(most, max(map(len, words), default=0)), *map(len, head.split())])


def _fitted(longest: Sequence[int], floors: Sequence[Sequence[int]], available: int) -> list[int]:
    """Narrow the widest columns until all fit: down to the first floors, then to the next, then to one character."""
    widths = list(longest)
    for floor in (*floors, [1] * len(widths)):
        while sum(widths) > available:
            wider = [column for column, width in enumerate(widths) if width > floor[column]]
            if not wider:
                break
            widths[max(wider, key=widths.__getitem__)] -= 1
    return widths
