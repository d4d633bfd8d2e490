"""Reports as Markdown."""

import re
from collections.abc import Iterator, Sequence

from flyball_reports.section import Code, ReportTable, Section

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_CODE_WORDS = re.compile(r"(`[^`]+`)")


def markdown(title: str, sections: Sequence[Section]) -> str:
    """Return a document in Markdown. Charts are left out; the tables hold their numbers."""
    lines = [f"# {escaped(title)}", ""]
    for section in sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it as it is, even if it contains names from other sources."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def worded(text: str) -> str:
    """Escape text but keep words between backticks as code. Within code only a table's bar is escaped."""
    parts = _CODE_WORDS.split(" ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts)
    )


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield from (f"{'#' * section.level} {worded(section.title)}", "")
    for paragraph in filter(None, section.text):
        yield from (worded(paragraph), "")
    for table in section.tables:
        yield from _table(table)
        yield ""
    for code in section.code:
        yield from (_code(code), "")
    if section.points:
        yield from (f"- {'[ ] ' if section.boxes else ''}{worded(point)}" for point in section.points)
        yield ""


def _code(code: Code) -> str:
    """Put code between fences that are longer than any fence inside it."""
    longest = max((len(found) for found in re.findall(r"`+", code.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{code.language}\n{code.text.rstrip()}\n{fence}"


def _table(table: ReportTable) -> Iterator[str]:
    width = max((len(row) for row in table.rows), default=len(table.heads))
    yield _row(table.heads or ("",) * width)
    yield _row(tuple("---:" if column in table.figures else "---" for column in range(width)), plain=True)
    yield from (_row(row) for row in table.rows)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return "| " + " | ".join(cell if plain else worded(cell) for cell in cells) + " |"
