"""Entries of hardware, from data files, users' files or programs, and the devices that they describe."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from msgspec import Struct, field

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind, DeviceLink
from flyball_planner.catalogue.links import link_named
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError, UnknownName, nearest

Entry = Mapping[str, str]
GIB = 2**30
"""Makers print memory in powers of two: an "80 GB" card has 80 GiB."""


class Place(Struct, frozen=True):
    """The source and line of an entry."""

    source: str
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)  # of the entry's keys

    def at(self, key: str) -> str:
        """Return the place of a key in words."""
        line = self.lines.get(key, self.line)
        return f"{self.source}:{line}" if line else self.source


class BadEntry(InputError):
    """An invalid entry. The message names the place, the key and what was expected."""

    def __init__(self, place: Place, key: str, wrong: str) -> None:
        self.key = key
        super().__init__(": ".join(filter(None, (place.at(key), key, wrong))))


class EntryKey(Struct, frozen=True):
    """One key of an entry."""

    expected: str
    read: Callable[[str], object]
    meaning: str
    required: bool = False


def _number(text: str) -> float:
    value = float(text.replace("_", ""))
    if not (isfinite(value) and value > 0):
        raise ValueError(text)
    return value


def _price(text: str) -> float:
    value = float(text)
    if not (isfinite(value) and value >= 0):
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
COUNT = "an integer above 0"
KINDS = ", ".join(DeviceKind)
RATES = {
    "fp32_tflops": NumberFormat.FP32,
    "tf32_tflops": NumberFormat.TF32,
    "fp16_tflops": NumberFormat.FP16,
    "bf16_tflops": NumberFormat.BF16,
    "fp8_tflops": NumberFormat.FP8,
    "int8_tops": NumberFormat.INT8,
    "fp4_tflops": NumberFormat.FP4,
}
KEYS: dict[str, EntryKey] = {
    "name": EntryKey("a name", str, "the device's name", required=True),
    "kind": EntryKey(
        f"one of {KINDS}",
        lambda text: DeviceKind(text.casefold()),
        "kind of device (default: gpu); unified: Apple silicon",
    ),
    "vendor": EntryKey("a name", str, "vendor of the device"),
    "architecture": EntryKey("a name", str, "generation of the device, such as Hopper"),
    "capability": EntryKey("a compute capability such as 9.0", str, "NVIDIA's compute capability"),
    "memory_gib": EntryKey(
        f"{NUMBER}, in GiB (80 for an “80 GB” card)", _number, "memory of one device", required=True
    ),
    "visible_mib": EntryKey(f"{NUMBER}, in MiB, as reported by nvidia-smi", _number, "memory of an empty device"),
    "memory_type": EntryKey("a name such as HBM3", str, "kind of memory"),
    "memory_gb_per_second": EntryKey(f"{NUMBER}, in GB/s", _number, "bandwidth of the memory", required=True),
    **{
        key: EntryKey(
            f"{NUMBER}, in 10¹² operations per second, without sparsity", _number, f"peak rate in {each.value}"
        )
        for key, each in RATES.items()
    },
    "tensor_cores": EntryKey("yes or no", _flag, "whether the device has matrix units"),
    "link": EntryKey("a link such as NVLink 4", str, "link between devices of one node"),
    "link_gb_per_second": EntryKey(f"{NUMBER}, in GB/s, one way", _number, "rate of that link"),
    "host_link": EntryKey("a link such as PCIe 4.0 x16", str, "link to the host"),
    "devices_a_node": EntryKey(COUNT, _count, "number of devices in one node"),
    "network": EntryKey("a network such as 8 x InfiniBand NDR", str, "network between nodes"),
    "power_watts": EntryKey(f"{NUMBER}, in watts", _number, "power limit of one device"),
    "slowdown_celsius": EntryKey(f"{NUMBER}, in °C", _number, "temperature at which the device slows down"),
    "cores": EntryKey(COUNT, _count, "cores of a processor"),
    "host_memory_gib": EntryKey(f"{NUMBER}, in GiB", _number, "memory of a machine with such devices"),
    "usd_per_hour": EntryKey("a number of at least 0, in US dollars", _price, "price of one device for an hour"),
    "launch_year": EntryKey("a year", _count, "year in which the device appeared"),
    "aliases": EntryKey("names separated by semicolons", _names, "other names of the device"),
    "confidence": EntryKey("a word such as high, medium or low", str, "how reliable the values are"),
    "source": EntryKey("a text", str, "where the values come from"),
    "note": EntryKey("a text", str, "shown with the device in verbose reports"),
}


COMPUTED = frozenset(
    (
        "kind",
        "memory_gib",
        "visible_mib",
        "memory_gb_per_second",
        "link",
        "link_gb_per_second",
        "host_link",
        "host_memory_gib",
    )
)
"""Keys that do not equal a field of a device."""


def device(entry: Entry, place: Place) -> ComputeDevice:
    """Return the device that an entry describes."""
    values = read(entry, place)
    rates = {each: values[key] * 1e12 for key, each in RATES.items() if key in values}
    if not rates:
        raise BadEntry(place, "", f"no rate given; at least one of these is required: {', '.join(RATES)}")
    host = _link(values.get("host_link"), None, place, "host_link")
    plain = {key: value for key, value in values.items() if key not in RATES and key not in COMPUTED}
    return ComputeDevice(
        kind=values.get("kind", DeviceKind.GPU),
        memory_bytes=values["memory_gib"] * GIB,
        memory_bytes_per_second=values["memory_gb_per_second"] * 1e9,
        flops_per_second=rates,
        visible_bytes=values["visible_mib"] * 2**20 if "visible_mib" in values else None,
        host_memory_bytes=values["host_memory_gib"] * GIB if "host_memory_gib" in values else None,
        within_node=_link(values.get("link"), values.get("link_gb_per_second"), place, "link") or host,
        host_link=host,
        **{"vendor": "", "architecture": "", **plain},
    )


def read(entry: Entry, place: Place) -> dict[str, Any]:
    """Return the values of an entry; empty ones are left out."""
    for key in entry:
        if key not in KEYS:
            suggestion = nearest(key, KEYS)
            hint = f"did you mean {suggestion!r}?" if suggestion else f"known are {', '.join(KEYS)}"
            raise BadEntry(place, key, f"unknown key; {hint}")
    values: dict[str, Any] = {}
    for key, wanted in KEYS.items():
        text = entry.get(key, "").strip()
        if text:
            values[key] = _value(wanted, text, place, key)
        elif wanted.required:
            raise BadEntry(place, key, f"is missing; expected {wanted.expected}")
    return values


def _value(key: EntryKey, text: str, place: Place, name: str) -> object:
    try:
        return key.read(text)
    except (ValueError, KeyError):
        raise BadEntry(place, name, f"expected {key.expected}, not {text!r}") from None


def _link(name: str | None, gigabytes: float | None, place: Place, key: str) -> DeviceLink | None:
    if gigabytes is not None:
        return DeviceLink(name or "own link", gigabytes * 1e9)
    if name is None:
        return None
    try:
        return link_named(name)
    except UnknownName as unknown:
        raise BadEntry(place, key, f"{unknown}; or set link_gb_per_second") from None
