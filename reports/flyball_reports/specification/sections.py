"""Reads a section of a specification by its declared keys, and gathers every fault on the way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from flyball_reports.specification.entry import Entry
from flyball_reports.specification.problems import Problem, unknown
from flyball_reports.specification.value_readers import Reader, Unfit


class Key(Struct, frozen=True):
    """One key: what it means and what it expects. What has no default and is not required may be left out."""

    name: str
    reader: Reader
    meaning: str
    required: bool = False


class Findings(Struct):
    """Faults so far, and where each key stands."""

    problems: list[Problem]
    root: Entry

    def add(self, path: str, message: str) -> None:
        """A fault of the key with this path, at the line of the nearest key that exists."""
        self.problems.append(Problem(self.line(path), path, message))

    def of(self, path: str) -> bool:
        """Whether this key has a fault already."""
        return any(each.key == path for each in self.problems)

    def line(self, path: str) -> int:
        """The line of a key, or of the section that lacks it."""
        entry, line = self.root, 0
        for name in path.split("."):
            if not isinstance(entry.value, dict) or name not in entry.value:
                break
            entry = entry.value[name]
            line = entry.line
        return line


def read_section(path: str, entry: Entry | None, keys: Sequence[Key], findings: Findings) -> dict[str, Any]:
    """The values of a section by name; only those that are there and fit."""
    if entry is None or entry.value is None:
        entry = Entry({}, findings.line(path))
    if not isinstance(entry.value, dict):
        findings.add(path, f"expected keys ({_listed(each.name for each in keys)}), not {entry.told()}")
        return {}
    declared = {key.name: key for key in keys}
    for name in entry.value.keys() - declared.keys():
        findings.add(under(path, name), unknown("key", name, declared))
    for key in keys:
        if key.required and (key.name not in entry.value or entry.value[key.name].value is None):
            findings.add(under(path, key.name), f"is missing; expected {key.reader.expected} ({key.meaning})")
    return dict(_values(path, entry.value, declared, findings))


def under(path: str, name: str) -> str:
    """The path of a key in a section; the file itself has none."""
    return f"{path}.{name}" if path else name


def _values(
    path: str, given: Mapping[str, Entry], declared: Mapping[str, Key], findings: Findings
) -> Iterable[tuple[str, Any]]:
    for name, entry in given.items():
        if name not in declared or entry.value is None:
            continue  # a key without a value is as if it were not there
        try:
            yield name, declared[name].reader.read(entry)
        except Unfit as fault:
            findings.add(under(path, name), f"expected {fault}, not {fault.found or entry.told()}")


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:6]) + (" …" if len(known) > 6 else "")
