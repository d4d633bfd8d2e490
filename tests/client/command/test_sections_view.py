"""Sections of a report in a narrow terminal."""

import io

from rich.console import Console

from flyball.command.sections_view import sections_view
from flyball_reports.section import ReportTable, Section

HEADS = ("Devices", "Batch", "Layout", "Step", "Samples/s", "Efficiency", "Complete run", "Memory", "Cost")
ROW = ("64", "1,024", "DP64 ZeRO-1 mb8", "784 ms", "329.1", "98 %", "14 days 3 h", "75 %", "$1,717")


def lines(section: Section, columns: int = 80) -> list[str]:
    screen = Console(file=io.StringIO(), width=columns, color_system=None)
    screen.print(sections_view("", [section], columns))
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]  # type: ignore[attr-defined]  # given above


def test_figures_stay_on_one_line_as_long_as_they_fit() -> None:
    """The text beside them is wrapped at its words instead. No head is cut."""
    shown = lines(Section("", tables=(ReportTable((ROW,), HEADS, (0, 1, 3, 4, 5, 6, 7, 8)),)))
    assert max(map(len, shown)) <= 80
    assert all(head in shown[0] for head in HEADS)
    assert all(cell in shown[1] for cell in ROW if cell != "DP64 ZeRO-1 mb8")
    assert " ".join(shown).count("…") == 0
    assert [word for word in " ".join(shown[1:]).split() if word in ROW[2].split()] == ROW[2].split()


def test_nothing_is_cut_if_figures_do_not_fit() -> None:
    """Then they are wrapped, and words that are longer than a line are folded."""
    spread = "$1,397 ($1,139 … $1,714)"
    row = ("4 × Azure Standard_ND96amsr_A100_v4_with_a_long_name", "eastus, 2026-06-18", "$32.77", spread, spread)
    table = ReportTable((row,), ("Offer", "Region and date", "Per hour", "On demand", "Spot"), (2, 3, 4))
    shown = lines(Section("", tables=(table,)), columns=60)
    assert max(map(len, shown)) <= 60
    for cell in row:
        remaining = "".join("".join(shown).split())
        assert all(character in remaining for character in cell if not character.isspace())
    assert sum(line.count("…") for line in shown) == 2


def test_names_stay_whole_where_figures_can_be_wrapped() -> None:
    """A broken name of an instance cannot be copied; a spread with spaces can be read on two lines."""
    spread = "13 h 32 min (9 h 25 min … 1 day 10 h)"
    row = ("8 × Instinct MI300X", spread, "$165", "–", "1 × Azure Standard_ND96amsr_A100_v4", "eastus2, 2026-06-18")
    heads = ("Devices", "Time", "On demand", "Spot", "Offer", "Region and date")
    shown = lines(Section("", tables=(ReportTable((row,), heads, (1, 2, 3)),)))
    assert max(map(len, shown)) <= 80
    assert any("Standard_ND96amsr_A100_v4" in line for line in shown)


def test_wrapped_points_are_indented() -> None:
    """So that each point can be found."""
    assert lines(Section("", points=("one two three four",)), columns=12) == ["• one two", "  three four"]
