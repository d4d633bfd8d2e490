"""Reads CSV into values that know their lines."""

import csv
from collections.abc import Iterator, Sequence

from flyball_reports.specification.document import MOST_CHARACTERS
from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.source_value import Scalar, SourceValue

COMMENT = "#"
BYTE_ORDER_MARK = "\ufeff"
_MOST_COLUMNS = 200
_WORDS: dict[str, Scalar] = {"true": True, "yes": True, "false": False, "no": False}


def table_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, SourceValue]]]:
    """Yield each row with its line, by column names. Empty cells are left out; lines that begin with # are comments."""
    if len(text) > MOST_CHARACTERS:
        raise SpecificationError([Problem(0, "", f"longer than {MOST_CHARACTERS:,} characters")], file)
    text = text.removeprefix(BYTE_ORDER_MARK)  # spreadsheets write one
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    cells = [(number, _cells(line, number, file)) for number, line in lines if not line.startswith(COMMENT)]
    if not cells:
        raise SpecificationError([Problem(0, "", "is empty; the first line must name the columns")], file)
    head = _head(*cells[0], file)
    for number, row in cells[1:]:
        if len(row) > len(head):
            message = f"has {len(row)} cells, but there are only {len(head)} columns"
            raise SpecificationError([Problem(number, "", message)], file)
        yield number, {name: SourceValue(_value(cell), number) for name, cell in zip(head, row, strict=False) if cell}


def _cells(line: str, number: int, file: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise SpecificationError([Problem(number, "", f"not valid CSV: {error}")], file) from None


def _head(number: int, names: Sequence[str], file: str) -> Sequence[str]:
    twice = sorted({name for name in names if name and names.count(name) > 1})
    problems = [Problem(number, "", f"duplicate column {name!r}; keep one of them") for name in twice]
    if len(names) == 1 and ";" in names[0]:
        problems.append(Problem(number, "", "separates columns by semicolons; use commas"))
    if "" in names:
        problems.append(Problem(number, "", "has a column without a name"))
    if len(names) > _MOST_COLUMNS:
        problems.append(Problem(number, "", f"has more than {_MOST_COLUMNS} columns"))
    if problems:
        raise SpecificationError(problems, file)
    return names


def _value(cell: str) -> "Scalar | list[SourceValue]":
    """Convert a cell as YAML would; [512, 256] is a list."""
    if cell.startswith("[") and cell.endswith("]"):
        return [SourceValue(_value(each.strip()), 0) for each in cell[1:-1].split(",") if each.strip()]
    if cell.casefold() in _WORDS:
        return _WORDS[cell.casefold()]
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
