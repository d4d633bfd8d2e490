"""Reports as plain text, for pipes and files."""

from hypothesis import given
from hypothesis import strategies as st

from flyball.command.sections_text import sections_text
from flyball_reports.section import Code, Section, Table

PRICES = Table((("A100", "1.2"), ("a longer name", "10")), heads=("Device", "$"), figures=(1,))


def test_columns_stand_below_each_other_and_figures_to_the_right() -> None:
    """The text is as wide as what it says."""
    section = Section("Prices", ("An hour of each.",), (PRICES,), ("ask again",), code=(Code("a = 1"),))
    assert sections_text("A plan", [section]) == (
        "A plan\n\nPrices\nAn hour of each.\n"
        "Device           $\nA100           1.2\na longer name   10\n"
        "a = 1\n• ask again\n"
    )


def test_facts_have_no_heads() -> None:
    """A table without heads is a list, and one without rows is nothing."""
    facts = Table((("Time", "3 h"), ("Cost", "$4")))
    assert sections_text("", [Section("", tables=(facts, Table(())))]) == "Time  3 h\nCost  $4\n"


@given(st.text(), st.text())
def test_nothing_is_cut_and_nothing_steers_a_terminal(name: str, text: str) -> None:
    """Whatever the names of others hold, each line stays one line."""
    told = sections_text("", [Section("", (text,), (Table(((name, "x"),)),))])
    assert told.replace("\n", "").isprintable()
    assert told.count("\n") == 2
    assert len(told) >= len(text.strip()) + len(name.strip())
