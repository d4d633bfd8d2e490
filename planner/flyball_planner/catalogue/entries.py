"""An entry of hardware, whoever wrote it (our data files, a user's file, a program), and the device that it means."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from msgspec import Struct, field

from flyball_planner.catalogue.hardware import Device, DeviceKind, Link
from flyball_planner.catalogue.links import link_named
from flyball_planner.precision import Format
from flyball_reports.errors import InputError, UnknownName, nearest

Entry = Mapping[str, str]
GIB = 2**30
"""Makers print memory in powers of two: an "80 GB" card has 80 GiB."""


class Place(Struct, frozen=True):
    """Where an entry stands."""

    source: str
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)  # of its keys

    def at(self, key: str) -> str:
        """Where a key stands, in words."""
        line = self.lines.get(key, self.line)
        return f"{self.source}, line {line}" if line else self.source


class BadEntry(InputError):
    """An entry says something that cannot be; the message names the place, the key and what was expected."""

    def __init__(self, place: Place, key: str, wrong: str) -> None:
        self.key = key
        super().__init__(": ".join(filter(None, (place.at(key), key, wrong))))


class Key(Struct, frozen=True):
    """One key of an entry."""

    expected: str
    read: Callable[[str], object]
    required: bool = False


def _number(text: str) -> float:
    value = float(text.replace("_", ""))
    if not (isfinite(value) and value > 0):
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = _number(text)
    if value != int(value):
        raise ValueError(text)
    return int(value)


def _flag(text: str) -> bool:
    return {"yes": True, "true": True, "no": False, "false": False}[text.casefold()]


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(";") if each.strip())


NUMBER = "a number above 0"
COUNT = "a whole number above 0"
KINDS = ", ".join(DeviceKind)
RATES = {
    "fp32_tflops": Format.FP32,
    "tf32_tflops": Format.TF32,
    "fp16_tflops": Format.FP16,
    "bf16_tflops": Format.BF16,
    "fp8_tflops": Format.FP8,
    "int8_tops": Format.INT8,
    "fp4_tflops": Format.FP4,
}
KEYS: dict[str, Key] = {
    "name": Key("a name", str, required=True),
    "kind": Key(f"one of {KINDS}", lambda text: DeviceKind(text.casefold())),
    "vendor": Key("a name", str),
    "architecture": Key("a name", str),
    "capability": Key("a compute capability such as 9.0", str),
    "memory_gib": Key(f"{NUMBER}, in GiB (80 for an “80 GB” card)", _number, required=True),
    "visible_mib": Key(f"{NUMBER}, in MiB, as nvidia-smi shows it", _number),
    "memory_type": Key("a name such as HBM3", str),
    "memory_gb_per_second": Key(f"{NUMBER}, in GB/s", _number, required=True),
    **{key: Key(f"{NUMBER}, in units of 10¹² a second, without sparsity", _number) for key in RATES},
    "tensor_cores": Key("yes or no", _flag),
    "link": Key("a link such as NVLink 4", str),
    "link_gb_per_second": Key(f"{NUMBER}, in GB/s, one way", _number),
    "host_link": Key("a link such as PCIe 4.0 x16", str),
    "devices_a_node": Key(COUNT, _count),
    "network": Key("a network such as 8 x InfiniBand NDR", str),
    "power_watts": Key(f"{NUMBER}, in watts", _number),
    "slowdown_celsius": Key(f"{NUMBER}, in °C", _number),
    "cores": Key(COUNT, _count),
    "launch_year": Key("a year", _count),
    "aliases": Key("names separated by semicolons", _names),
    "confidence": Key("a word", str),
    "source": Key("where the figures are from", str),
    "note": Key("a text", str),
}


COMPUTED = frozenset(
    ("kind", "memory_gib", "visible_mib", "memory_gb_per_second", "link", "link_gb_per_second", "host_link")
)
"""Keys that are no field of a device as they stand."""


def device(entry: Entry, place: Place) -> Device:
    """The device that an entry means."""
    values = read(entry, place)
    rates = {each: values[key] * 1e12 for key, each in RATES.items() if key in values}
    if not rates:
        raise BadEntry(place, "", f"no rate is given; give at least one of {', '.join(RATES)}")
    host = _link(values.get("host_link"), None, place, "host_link")
    plain = {key: value for key, value in values.items() if key not in RATES and key not in COMPUTED}
    return Device(
        kind=values.get("kind", DeviceKind.GPU),
        memory_bytes=values["memory_gib"] * GIB,
        memory_bytes_per_second=values["memory_gb_per_second"] * 1e9,
        flops_per_second=rates,
        visible_bytes=values["visible_mib"] * 2**20 if "visible_mib" in values else None,
        within_node=_link(values.get("link"), values.get("link_gb_per_second"), place, "link") or host,
        host_link=host,
        **{"vendor": "", "architecture": "", **plain},
    )


def read(entry: Entry, place: Place) -> dict[str, Any]:
    """What each key says; what is empty is left out."""
    for key in entry:
        if key not in KEYS:
            meant = nearest(key, KEYS)
            hint = f"did you mean {meant!r}?" if meant else f"known are {', '.join(KEYS)}"
            raise BadEntry(place, key, f"no such key; {hint}")
    values: dict[str, Any] = {}
    for key, wanted in KEYS.items():
        text = entry.get(key, "").strip()
        if text:
            values[key] = _value(wanted, text, place, key)
        elif wanted.required:
            raise BadEntry(place, key, f"missing; expected {wanted.expected}")
    return values


def _value(key: Key, text: str, place: Place, name: str) -> object:
    try:
        return key.read(text)
    except (ValueError, KeyError):
        raise BadEntry(place, name, f"expected {key.expected}, found {text!r}") from None


def _link(name: str | None, gigabytes: float | None, place: Place, key: str) -> Link | None:
    if gigabytes is not None:
        return Link(name or "own link", gigabytes * 1e9)
    if name is None:
        return None
    try:
        return link_named(name)
    except UnknownName as unknown:
        raise BadEntry(place, key, f"{unknown}; or give its rate as link_gb_per_second") from None
