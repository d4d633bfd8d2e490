"""Reads a section of a specification by its declared keys and collects all problems."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from flyball_reports.specification.problems import Problem, unknown
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.value_readers import ANY_VALUE, Reader, Unfit


class SectionKey(Struct, frozen=True):
    """One key: what it means and which values it takes. A key that is not required may be left out."""

    name: str
    reader: Reader
    meaning: str
    required: bool = False


class SpecificationFaults(Struct):
    """The problems found so far, and the document that they refer to."""

    problems: list[Problem]
    root: SourceValue

    def add(self, path: str, message: str) -> None:
        """Add a problem of the key with this path. Its line is that of the nearest key that exists."""
        self.problems.append(Problem(self.line(path), path, message))

    def has(self, path: str) -> bool:
        """Return True if the key with this path already has a problem."""
        return any(each.key == path for each in self.problems)

    def line(self, path: str) -> int:
        """Return the line of a key, or of the section that lacks it."""
        entry, line = self.root, 0
        for name in path.split("."):
            if not isinstance(entry.value, dict) or name not in entry.value:
                break
            entry = entry.value[name]
            line = entry.line
        return line


def read_section(
    path: str, entry: SourceValue | None, keys: Sequence[SectionKey], faults: SpecificationFaults
) -> dict[str, Any]:
    """Return the valid values of a section by name, and add a problem for every other one."""
    if entry is None or entry.value is None:
        entry = SourceValue({}, faults.line(path))
    if not isinstance(entry.value, dict):
        faults.add(path, f"expected keys ({_listed(each.name for each in keys)}), not {entry.description()}")
        return {}
    declared = {key.name: key for key in keys}
    for name in entry.value.keys() - declared.keys():
        faults.add(under(path, name), unknown("key", name, declared))
    for key in keys:
        if key.required and (key.name not in entry.value or entry.value[key.name].value is None):
            faults.add(under(path, key.name), f"is missing; expected {_wanted(key)}")
    return dict(_values(path, entry.value, declared, faults))


def _wanted(key: SectionKey) -> str:
    return key.meaning if key.reader.expected == ANY_VALUE else f"{key.reader.expected} ({key.meaning})"


def under(path: str, name: str) -> str:
    """Return the path of a key in a section; the top level has an empty path."""
    return f"{path}.{name}" if path else name


def _values(
    path: str, given: Mapping[str, SourceValue], declared: Mapping[str, SectionKey], faults: SpecificationFaults
) -> Iterable[tuple[str, Any]]:
    for name, entry in given.items():
        if name not in declared or entry.value is None:
            continue  # a key without a value counts as missing
        try:
            yield name, declared[name].reader.read(entry)
        except Unfit as fault:
            hint = f"; {fault.hint}" if fault.hint else ""
            faults.add(under(path, name), f"expected {fault}, not {fault.found or entry.description()}{hint}")


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:6]) + (" …" if len(known) > 6 else "")
