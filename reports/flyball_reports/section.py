"""The parts of every report: titled sections of text, tables and charts, in any output format."""

from msgspec import Struct


class ReportTable(Struct, frozen=True):
    """Rows of text. A table without heads lists facts, each named by its first cell."""

    rows: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...] = ()
    figures: tuple[int, ...] = ()  # columns of numbers, aligned to the right


class Chart(Struct, frozen=True):
    """A drawing as SVG with its caption."""

    name: str
    caption: str
    svg: str


class Code(Struct, frozen=True):
    """Preformatted text: code or a diff."""

    text: str
    language: str = ""  # "diff" marks added and removed lines


class Section(Struct, frozen=True):
    """One part of a report."""

    title: str
    text: tuple[str, ...] = ()  # paragraphs
    tables: tuple[ReportTable, ...] = ()
    points: tuple[str, ...] = ()  # a list
    charts: tuple[Chart, ...] = ()
    tone: str = "plain"  # or "good", "warning", "bad"
    code: tuple[Code, ...] = ()
    level: int = 2  # of its heading
    boxes: bool = False  # show the points as a checklist
