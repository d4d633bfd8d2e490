"""What every report is made of, whatever it is written in: titled sections of text, tables and charts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words; without heads it is a list of facts, the first word naming each. Figures stand to the right."""

    rows: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...] = ()
    figures: tuple[int, ...] = ()  # columns of numbers


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing as SVG, and what a reader is to see in it."""

    name: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report."""

    title: str
    text: tuple[str, ...] = ()  # paragraphs
    tables: tuple[Table, ...] = ()
    points: tuple[str, ...] = ()  # a list
    charts: tuple[Chart, ...] = ()
    tone: str = "plain"  # or "good", "warning", "bad"
