"""A table in CSV as values that know their lines."""

import csv
from collections.abc import Iterator, Sequence

from flyball_reports.specification.document import MOST_CHARACTERS
from flyball_reports.specification.entry import Entry, Scalar
from flyball_reports.specification.problems import Problem, SpecificationError

COMMENT = "#"
BYTE_ORDER_MARK = "\ufeff"
_MOST_COLUMNS = 200
_WORDS: dict[str, Scalar] = {"true": True, "yes": True, "false": False, "no": False}


def table_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, Entry]]]:
    """Each row with its line, by the names of its columns; empty cells are left out, lines with # are comments."""
    if len(text) > MOST_CHARACTERS:
        raise SpecificationError([Problem(0, "", f"longer than {MOST_CHARACTERS:,} characters")], file)
    text = text.removeprefix(BYTE_ORDER_MARK)  # spreadsheets begin with one
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    cells = [(number, _cells(line, number, file)) for number, line in lines if not line.startswith(COMMENT)]
    if not cells:
        raise SpecificationError([Problem(0, "", "is empty; its first line names the columns")], file)
    head = _head(*cells[0], file)
    for number, row in cells[1:]:
        if len(row) > len(head):
            said = f"has {len(row)} cells, but the head names {len(head)} columns"
            raise SpecificationError([Problem(number, "", said)], file)
        yield number, {name: Entry(_value(cell), number) for name, cell in zip(head, row, strict=False) if cell}


def _cells(line: str, number: int, file: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise SpecificationError([Problem(number, "", f"is no CSV: {error}")], file) from None


def _head(number: int, names: Sequence[str], file: str) -> Sequence[str]:
    twice = sorted({name for name in names if name and names.count(name) > 1})
    problems = [Problem(number, "", f"names the column {name!r} a second time; keep one of them") for name in twice]
    if len(names) == 1 and ";" in names[0]:
        problems.append(Problem(number, "", "parts its columns by semicolons; write commas"))
    if "" in names:
        problems.append(Problem(number, "", "has a column without a name"))
    if len(names) > _MOST_COLUMNS:
        problems.append(Problem(number, "", f"has more than {_MOST_COLUMNS} columns"))
    if problems:
        raise SpecificationError(problems, file)
    return names


def _value(cell: str) -> "Scalar | list[Entry]":
    """What YAML would take it for, as far as a table needs that; [512, 256] is a list."""
    if cell.startswith("[") and cell.endswith("]"):
        return [Entry(_value(each.strip()), 0) for each in cell[1:-1].split(",") if each.strip()]
    if cell.casefold() in _WORDS:
        return _WORDS[cell.casefold()]
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
