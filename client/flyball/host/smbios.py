"""Memory modules and power supplies from the firmware's tables (SMBIOS, DMTF DSP0134), which only root may read."""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack_from

_MEMORY_DEVICE, _POWER_SUPPLY = 17, 39
_KINDS = {
    0x12: "DDR", 0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1C: "LPDDR2", 0x1D: "LPDDR3",
    0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
_UNKNOWN_POWER = 0x8000
_EXTENDED = 0xFFFF


@dataclass(frozen=True, slots=True)
class MemoryModule:
    """One installed module. ECC is known by its width: 72 bits for 64 bits of data."""

    kind: str | None
    mega_transfers_per_second: int | None
    ecc: bool | None


@dataclass(frozen=True, slots=True)
class PowerSupply:
    """One power supply that is present."""

    watts: int | None


def memory_modules(table: bytes) -> list[MemoryModule]:
    """Return the installed modules of a table. Empty slots are left out."""
    return [_module(data) for kind, data in _structures(table) if kind == _MEMORY_DEVICE and _is_installed(data)]


def power_supplies(table: bytes) -> list[PowerSupply]:
    """Return the supplies that are present."""
    found = []
    for kind, data in _structures(table):
        if kind == _POWER_SUPPLY and len(data) >= 0x10:
            watts, traits = unpack_from("<HH", data, 0x0C)
            if traits & 0b10:  # present
                found.append(PowerSupply(watts if 0 < watts < _UNKNOWN_POWER else None))
    return found


def _structures(table: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and formatted part of each structure. A damaged table ends early."""
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if length < 4 or at + length > len(table):
            return
        yield kind, table[at : at + length]
        end = table.find(b"\0\0", at + length)  # the strings end with two zero bytes
        if end < 0:
            return
        at = end + 2


def _is_installed(data: bytes) -> bool:
    return len(data) >= 0x15 and unpack_from("<H", data, 0x0C)[0] not in {0, 0xFFFF}


def _module(data: bytes) -> MemoryModule:
    total, width = unpack_from("<HH", data, 0x08)
    known = total not in {0, 0xFFFF} and width not in {0, 0xFFFF}
    return MemoryModule(_KINDS.get(data[0x12]), _speed(data), total > width if known else None)


def _speed(data: bytes) -> int | None:
    """Return the speed in use, else that of the module."""
    for short, long in ((0x20, 0x58), (0x15, 0x54)):
        if len(data) >= short + 2:
            speed = unpack_from("<H", data, short)[0]
            if speed == _EXTENDED and len(data) >= long + 4:
                speed = unpack_from("<I", data, long)[0] & 0x7FFFFFFF
            if 0 < speed < _EXTENDED or speed > _EXTENDED:
                return int(speed)
    return None
