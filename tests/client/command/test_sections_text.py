"""Reports as plain text for pipes and files."""

from hypothesis import given
from hypothesis import strategies as st

from flyball.command.sections_text import sections_text
from flyball_reports.section import Code, ReportTable, Section

PRICES = ReportTable((("A100", "1.2"), ("a longer name", "10")), heads=("Device", "$"), figures=(1,))


def test_columns_are_aligned_and_numbers_are_right_justified() -> None:
    """The text is as wide as its content."""
    section = Section("Prices", ("An hour of each.",), (PRICES,), ("ask again",), code=(Code("a = 1"),))
    assert sections_text("A plan", [section]) == (
        "A plan\n\nPrices\nAn hour of each.\n"
        "Device           $\nA100           1.2\na longer name   10\n"
        "a = 1\n• ask again\n"
    )


def test_facts_have_no_heads() -> None:
    """A table without heads is a list; one without rows is left out."""
    facts = ReportTable((("Time", "3 h"), ("Cost", "$4")))
    assert sections_text("", [Section("", tables=(facts, ReportTable(())))]) == "Time  3 h\nCost  $4\n"


@given(st.text(), st.text())
def test_nothing_is_cut_and_control_characters_are_replaced(name: str, text: str) -> None:
    """Each line stays one line, whatever the text contains."""
    text_out = sections_text("", [Section("", (text,), (ReportTable(((name, "x"),)),))])
    assert text_out.replace("\n", "").isprintable()
    assert text_out.count("\n") == 2
    assert len(text_out) >= len(text.strip()) + len(name.strip())
