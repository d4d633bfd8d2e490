"""The fields of NVML: many values in one call, each with its own type and error code."""

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flyball_agent.accelerators.nvml import FUNCTION_NOT_FOUND, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, Nvml

DOUBLE, UNSIGNED_INT, UNSIGNED_LONG_LONG, SIGNED_LONG_LONG, SIGNED_INT = 0, 1, 3, 4, 5  # nvmlValueType_t
CALL = "nvmlDeviceGetFieldValues"
MISSING = (NOT_SUPPORTED, FUNCTION_NOT_FOUND)

_VALUE = struct.Struct("=8xq8xIIQ")  # nvmlFieldValue_t: timestamp, type, code, value


class FieldValue(NamedTuple):
    """One field: its code, value, type, and the driver's time in microseconds."""

    code: int
    value: float
    kind: int
    microseconds: int

    @property
    def missing(self) -> bool:
        """True if the device does not have the field."""
        return self.code in MISSING


class FieldArray:
    """The entries of one call. The buffer is allocated once."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, wanted: Sequence[tuple[int, int]]) -> None:
        self._call = nvml.call(CALL)
        self._handle = handle
        self._array = (nvml.structures.c_nvmlFieldValue_t * len(wanted))()
        self._count = len(wanted)
        for entry, (number, scope) in zip(self._array, wanted, strict=True):
            entry.fieldId, entry.scopeId = number, scope

    def scope(self, scope: int) -> None:
        """Set the scope of every entry, such as the number of a link."""
        for entry in self._array:
            entry.scopeId = scope

    def run(self) -> int:
        """Call the driver. Return the code of the whole call."""
        return self._call(self._handle, self._count, self._array) if self._count else SUCCESS

    def raw(self) -> list[tuple[int, int, int, int]]:
        """Return the driver's microseconds, type, code and bits of each entry, for what is read every second."""
        return list(_VALUE.iter_unpack(self._array))

    def values(self) -> Iterator[FieldValue]:
        """Yield the values of the last call, in the order of the entries."""
        for microseconds, kind, code, bits in _VALUE.iter_unpack(self._array):
            # an old driver rejects a field that it does not know as an invalid argument
            known = FUNCTION_NOT_FOUND if code == INVALID_ARGUMENT else code
            yield FieldValue(known, decoded(kind, bits), kind, microseconds)


def decoded(kind: int, bits: int) -> float:
    """Return the number in the eight bytes of a field's value."""
    if kind == UNSIGNED_INT:
        return bits & 0xFFFFFFFF
    if kind == DOUBLE:
        return float(struct.unpack("=d", struct.pack("=Q", bits))[0])
    if kind == SIGNED_LONG_LONG:
        return int(struct.unpack("=q", struct.pack("=Q", bits))[0])
    if kind == SIGNED_INT:
        return int(struct.unpack("=i", struct.pack("=I", bits & 0xFFFFFFFF))[0])
    return bits
