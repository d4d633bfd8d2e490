"""Parses `gpu_metrics`, the binary table in which amdgpu publishes what the firmware of the GPU measures.

Source of the layouts: the kernel's drivers/gpu/drm/amd/include/kgd_pp_interface.h (structures gpu_metrics_v1_0 to
v1_9, v2_0 to v2_4 and v3_0). Fixed layouts have C's natural alignment. Version 1.9 describes itself: each value
follows a word with its type, id and count, without padding (pm/swsmu/smu_cmn.h).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from flyball_agent.probes.probe import Unavailable, Unsupported

_HEADER = struct.Struct("=HBB")  # size of the table, format revision, content revision
_SELF_DESCRIBING = (1, 9)

# Fields in order; only those with a name are read. A trailing `+` allows more data: the activity of partitions (XCP).
_COMMON = "6H 3H H Q:energy Q:clock_ns 7H 7H I H 2H H 2I 4H"
_LINKS = "2H 2H 2I 2Q Q:pcie_recoveries Q:pcie_replays Q"
_NAKS = "I:pcie_naks_sent I:pcie_naks_received"
_XGMI = "8Q:xgmi_read_kib 8Q:xgmi_write_kib"
_CLOCKS = "Q 8H 4H 4H 4H H H"
_RESIDENCY = "I:accumulation I:prochot I:power I:socket_thermal I:regulator_thermal I:memory_thermal"
_APU = "2H 8H 2H 2H Q:clock_ns 4H 8H 6H 6H 8H 2H I H 3H"
_LAYOUTS = {
    (1, 0): "Q:clock_ns 6H 3H H I 7H 7H I H 2B",  # its 32-bit energy wraps within minutes, so it is left out
    (1, 1): _COMMON,
    (1, 2): f"{_COMMON} Q",
    (1, 3): f"{_COMMON} Q 3H H Q:throttle_bits",
    (1, 4): f"3H H 2H 4H Q:energy Q:clock_ns 2I {_LINKS} {_XGMI} {_CLOCKS}",
    (1, 5): f"3H H 2H 4H 32H Q:energy Q:clock_ns 2I {_LINKS} {_NAKS} {_XGMI} {_CLOCKS}",
    (1, 6): f"3H H 2H Q:energy Q:clock_ns {_RESIDENCY} I {_LINKS} {_NAKS} {_XGMI} {_CLOCKS} +",
    (1, 7): f"3H H 2H Q Q:energy Q:clock_ns {_RESIDENCY} I {_LINKS} {_NAKS} {_XGMI} 8H:xgmi_status H {_CLOCKS} +",
    (1, 8): f"3H H 2H Q Q:energy Q:clock_ns {_RESIDENCY} I {_LINKS} {_NAKS} {_XGMI} 8H:xgmi_status H {_CLOCKS} +",
    (2, 0): "Q:clock_ns 2H 8H 2H 2H 4H 8H 6H 6H 8H 2H I H H",
    (2, 1): _APU,
    (2, 2): f"{_APU} Q:throttle_bits",
    (2, 3): f"{_APU} Q:throttle_bits 2H 8H 2H",
    (2, 4): f"{_APU} Q:throttle_bits 2H 8H 2H 3H 3H",
    (3, 0): "2H 16H H H H 8H 16H 4H Q:clock_ns I H I I I I 16H H H H 8H 16H H H 7I I",
}
_ATTRIBUTES = {  # enum amdgpu_metrics_attr_id
    7: "energy", 8: "clock_ns", 9: "accumulation", 10: "prochot", 11: "power", 12: "socket_thermal",
    13: "regulator_thermal", 14: "memory_thermal", 24: "pcie_recoveries", 25: "pcie_replays", 27: "pcie_naks_sent",
    28: "pcie_naks_received", 29: "xgmi_read_kib", 30: "xgmi_write_kib",
    31: "xgmi_status",
}  # fmt: skip
_ATTRIBUTE_TYPES = "BbHhIiQq"  # enum amdgpu_metrics_attr_type
_UNSET = {"B": 0xFF, "H": 0xFFFF, "I": 0xFFFF_FFFF, "Q": 0xFFFF_FFFF_FFFF_FFFF}
"""The driver first sets every bit of the table. A value that still has all bits set is not provided."""


@dataclass(frozen=True, slots=True)
class MetricsTable:
    """The values of one table by name, each with one number per link or instance. Those not provided are left out."""

    version: str
    values: Mapping[str, tuple[int, ...]]

    def number(self, name: str) -> int | None:
        """Return a value that has one number."""
        return self.values[name][0] if name in self.values else None

    def total(self, name: str) -> int | None:
        """Return the sum over all links."""
        return sum(self.values[name]) if name in self.values else None


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    offset: int
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class _Layout:
    fields: tuple[_Field, ...]
    size: int
    open_end: bool

    def fits(self, size: int) -> bool:
        return size >= self.size if self.open_end else size == self.size


@cache
def _layout(version: tuple[int, int]) -> _Layout:
    """Return the offsets of the named fields. `struct` aligns each field as C does; 0Q is C's padding at the end."""
    before, fields = "@HBB", []
    *tokens, last = _LAYOUTS[version].split()
    for token in [*tokens, *([] if last == "+" else [last])]:
        form, _, name = token.partition(":")
        kind, count = form[-1], int(form[:-1] or 1)
        if name:
            fields.append(_Field(name, struct.calcsize(f"{before}0{kind}"), kind, count))
        before += form
    return _Layout(tuple(fields), struct.calcsize(before if last == "+" else f"{before}0Q"), last == "+")


def parse_table(data: bytes) -> MetricsTable:
    """Parse a table. Raise `Unsupported` for an unknown version, `Unavailable` if the size does not match."""
    if len(data) < _HEADER.size:
        raise Unavailable(f"gpu_metrics has {len(data)} bytes, fewer than its header")
    size, major, minor = _HEADER.unpack_from(data)
    version = f"{major}.{minor}"
    if (major, minor) == _SELF_DESCRIBING:
        return MetricsTable(version, _self_described(data, version))
    if (major, minor) not in _LAYOUTS:
        raise Unsupported(f"version {version} of gpu_metrics is not known")
    layout = _layout((major, minor))
    if size > len(data) or not layout.fits(size):
        raise Unavailable(f"gpu_metrics {version} has {len(data)} bytes and declares {size}; expected {layout.size}")
    values = {field.name: _provided(data, field) for field in layout.fields}
    return MetricsTable(version, {name: numbers for name, numbers in values.items() if numbers})


def _provided(data: bytes, field: _Field) -> tuple[int, ...]:
    numbers = struct.unpack_from(f"={field.count}{field.kind}", data, field.offset)
    return tuple(number for number in numbers if number != _UNSET.get(field.kind))


def _self_described(data: bytes, version: str) -> dict[str, tuple[int, ...]]:
    """Parse the values of a table that describes itself: bits 0–9 are the count, 10–19 the id, 20–23 the type."""
    values: dict[str, tuple[int, ...]] = {}
    try:
        (count,) = struct.unpack_from("=i", data, _HEADER.size)
        offset = _HEADER.size + 4
        for _ in range(count):
            (word,) = struct.unpack_from("=Q", data, offset)
            kind = _ATTRIBUTE_TYPES[word >> 20 & 0xF]
            field = _Field(_ATTRIBUTES.get(word >> 10 & 0x3FF, ""), offset + 8, kind, word & 0x3FF)
            numbers = _provided(data, field)
            if field.name and numbers:
                values[field.name] = numbers
            offset += 8 + struct.calcsize(f"={field.count}{kind}")
    except (struct.error, IndexError):
        raise Unavailable(f"gpu_metrics {version} ends within a value or has a value of unknown type") from None
    return values
