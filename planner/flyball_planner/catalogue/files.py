"""A user's own hardware in a YAML, JSON or CSV file with the keys of the catalogue's entries."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flyball_planner.catalogue.devices import REGISTRY, based
from flyball_planner.catalogue.entries import BadEntry, Entry, Place, device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_reports.errors import InputError, read_fault

if TYPE_CHECKING:
    from flyball_reports.specification.source_value import SourceValue as Node

Placed = tuple[Entry, Place]


def load_hardware(path: str | Path) -> tuple[ComputeDevice, ...]:
    """Add all devices of a file to the catalogue, or none if one of them has a fault."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not valid UTF-8") from None
    except OSError as error:
        raise InputError(read_fault(file, error)) from None
    found = read_hardware(text, file.suffix, str(file))
    for each in found:
        REGISTRY.add(each)
    return found


def read_hardware(text: str, suffix: str = ".yaml", source: str = "hardware") -> tuple[ComputeDevice, ...]:
    """Return the devices that a text describes, in the format of a file suffix."""
    read = READERS.get(suffix.casefold())
    if read is None:
        raise InputError(f"{source}: unknown format {suffix or '(no file suffix)'}; use .yaml, .json or .csv")
    found = tuple(device(based(entry, place), place) for entry, place in read(text, source))
    if not found:
        raise InputError(f"{source} contains no device; list devices under the key `devices`, each with a name")
    return found


def _of_yaml(text: str, source: str) -> Iterable[Placed]:
    from flyball_reports.specification.document import read_document  # noqa: PLC0415  rarely needed

    root = read_document(text, source)
    listed = root.value.get("devices", root) if isinstance(root.value, dict) else root
    return (_of_node(node, source) for node in _listed(listed))


def _listed(devices: "Node") -> Iterable["Node"]:
    """Return the devices of a list, of groups with the devices' names, or a single one."""
    from flyball_reports.specification.source_value import SourceValue  # noqa: PLC0415  rarely needed

    if isinstance(devices.value, list):
        return devices.value
    groups = devices.value if isinstance(devices.value, dict) else {}
    if not groups or not all(isinstance(each.value, dict) for each in groups.values()):
        return [devices]
    return [
        SourceValue({"name": SourceValue(name, each.line), **each.value}, each.line)
        for name, each in groups.items()
        if isinstance(each.value, dict)
    ]


def _of_node(node: "Node", source: str) -> Placed:
    if not isinstance(node.value, dict):
        raise BadEntry(
            Place(source, node.line), "", f"expected a device's keys such as name: …, not {node.description()}"
        )
    place = Place(source, node.line, {key: each.line for key, each in node.value.items()})
    return {key: _text(each, place, key) for key, each in node.value.items()}, place


def _text(node: "Node", place: Place, key: str) -> str:
    if isinstance(node.value, list):
        return "; ".join(_text(each, place, key) for each in node.value)
    if isinstance(node.value, dict):
        raise BadEntry(place, key, "expected a single value, not a group of keys")
    if isinstance(node.value, bool):
        return "yes" if node.value else "no"
    return "" if node.value is None else str(node.value)


def _of_csv(text: str, source: str) -> Iterable[Placed]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            place = Place(source, rows.line_num)
            if None in row:
                raise BadEntry(place, "", f"has more than the {len(rows.fieldnames or ())} columns of the first line")
            yield {key: value or "" for key, value in row.items()}, place
    except csv.Error as error:
        raise InputError(f"{source}:{rows.line_num}: not valid CSV: {error}") from None


READERS: Mapping[str, Callable[[str, str], Iterable[Placed]]] = {
    ".yaml": _of_yaml,
    ".yml": _of_yaml,
    ".json": lambda text, source: _of_yaml(text.expandtabs(), source),  # JSON is YAML except for tabs between tokens
    ".csv": _of_csv,
}
