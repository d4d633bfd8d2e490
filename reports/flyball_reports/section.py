"""What every report is made of, whatever it is written in: titled sections of text, tables and charts."""

from msgspec import Struct


class Table(Struct, frozen=True):
    """Rows of words; without heads it is a list of facts, the first word naming each. Figures stand to the right."""

    rows: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...] = ()
    figures: tuple[int, ...] = ()  # columns of numbers


class Chart(Struct, frozen=True):
    """A drawing as SVG, and what a reader is to see in it."""

    name: str
    caption: str
    svg: str


class Code(Struct, frozen=True):
    """Lines whose spaces are meant: code, or a difference between two states of it."""

    text: str
    language: str = ""  # "diff" has lines that come and go


class Section(Struct, frozen=True):
    """One part of a report."""

    title: str
    text: tuple[str, ...] = ()  # paragraphs
    tables: tuple[Table, ...] = ()
    points: tuple[str, ...] = ()  # a list
    charts: tuple[Chart, ...] = ()
    tone: str = "plain"  # or "good", "warning", "bad"
    code: tuple[Code, ...] = ()
    level: int = 2  # of its heading; a section with a greater one belongs to the last with a smaller one
    boxes: bool = False  # points are to be ticked off
