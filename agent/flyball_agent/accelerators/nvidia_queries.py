"""The kinds of queries to an NVIDIA device: each is one driver call and the columns that its result fills.

A tick makes about a hundred calls, so buffers are allocated once per device and results are unpacked from their bytes.
"""

import ctypes
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import POSITIONS, Field
from flyball_agent.accelerators.nvidia_fields import CALL, MISSING, UNSIGNED_INT, UNSIGNED_LONG_LONG, decoded
from flyball_agent.accelerators.nvml import (
    FUNCTION_NOT_FOUND,
    INVALID_ARGUMENT,
    NO_DATA,
    SUCCESS,
    Nvml,
    NvmlCall,
)
from flyball_agent.probes.probe import Value

Row = list[Value]
Failures = Sequence[tuple[int, int]]
"""Positions in the row whose part of the result failed, with the error code."""


class DeviceQuery(ABC):
    """One call for one device. `positions` are those in the row that its result fills."""

    call: str
    positions: tuple[int, ...]

    @abstractmethod
    def run(self) -> int:
        """Call the driver. Return the code of NVML."""

    @abstractmethod
    def store(self, row: Row) -> Failures:
        """Write the result into the row. Return the parts that failed."""

    def reset(self) -> None:  # noqa: B027  most queries have nothing to do
        """Query everything again, including what the device did not support."""

    def close(self) -> None:  # noqa: B027  most queries have nothing to do
        """Free the memory that the library allocated."""


class NumberQuery(DeviceQuery):
    """A call that returns one unsigned number."""

    def __init__(self, call: NvmlCall, column: DeviceColumn, factor: float, *arguments: Any) -> None:
        self.call = call.name
        self._call = call
        self._buffer = ctypes.c_uint()
        self._arguments = (*arguments, ctypes.byref(self._buffer))
        self._position = POSITIONS[column]
        self._factor = factor
        self.positions = (self._position,)

    def run(self) -> int:
        return self._call(*self._arguments)

    def store(self, row: Row) -> Failures:
        row[self._position] = self._buffer.value * self._factor
        return ()


class StructQuery(DeviceQuery):
    """A call that fills a structure. `convert` turns its unpacked fields into values; `more` follows the structure."""

    def __init__(
        self,
        call: NvmlCall,
        columns: Sequence[DeviceColumn],
        layout: str,
        convert: Callable[[tuple[Any, ...]], Sequence[Value]],
        *arguments: Any,
        version: int | None = None,
        more: Sequence[Any] = (),
    ) -> None:
        self.call = call.name
        self._call = call
        self._format = struct.Struct(layout)
        self._buffer = ctypes.create_string_buffer(self._format.size)
        if version is not None:
            struct.pack_into("I", self._buffer, 0, version)
        self._arguments = (*arguments, self._buffer, *more)
        self._convert = convert
        self.positions = tuple(POSITIONS[column] for column in columns)

    def run(self) -> int:
        return self._call(*self._arguments)

    def store(self, row: Row) -> Failures:
        for position, value in zip(self.positions, self._convert(self._format.unpack_from(self._buffer)), strict=True):
            row[position] = value
        return ()


class MarginQuery(DeviceQuery):
    """The degrees left to the highest operating temperature (T.Limit).

    The call takes 1.3 ms on an H100, so it is made every ten seconds. In between the margin follows the temperature:
    their sum is the highest operating temperature, a constant of the device (41 + 46 = 87 °C on that H100).
    """

    call = "nvmlDeviceGetMarginTemperature"
    positions = (POSITIONS[DeviceColumn(m.TEMPERATURE_MARGIN)],)
    _TEMPERATURE = POSITIONS[DeviceColumn(m.TEMPERATURE)]
    _EVERY = 10

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._call = nvml.call(self.call)
        self._handle = handle
        self._buffer = nvml.structures.c_nvmlMarginTemperature_v1_t()
        self._buffer.version = nvml.structures.nvmlMarginTemperature_v1
        self._limit: float | None = None
        self._age = 0

    def run(self) -> int:
        self._age += 1
        if self._limit is not None and self._age < self._EVERY:
            return SUCCESS
        self._limit, self._age = None, 0
        return self._call(self._handle, ctypes.byref(self._buffer))

    def store(self, row: Row) -> Failures:
        temperature = row[self._TEMPERATURE]
        if temperature is None:
            self._limit = None
            row[self.positions[0]] = self._buffer.marginTemperature if self._age == 0 else None
            return () if self._age == 0 else ((self.positions[0], NO_DATA),)
        if self._limit is None:
            self._limit = temperature + int(self._buffer.marginTemperature)
        row[self.positions[0]] = self._limit - temperature
        return ()


class FieldsQuery(DeviceQuery):
    """Many fields in one call. Fields that the device does not support are omitted from the next call."""

    _ONE = "24xIIQ"  # nvmlFieldValue_t: type, code and value of each
    call = CALL

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, fields: Sequence[Field]) -> None:
        self._call = nvml.call(CALL)
        self._handle = handle
        self._structures = nvml.structures
        self._wanted = [(POSITIONS[field.column], field) for field in fields]
        self.reset()

    def reset(self) -> None:
        self._lay_out(self._wanted)

    def _lay_out(self, fields: list[tuple[int, Field]]) -> None:
        self._fields = fields
        self.positions = tuple(position for position, _ in fields)
        self._array = (self._structures.c_nvmlFieldValue_t * len(fields))()
        self._format = struct.Struct("=" + self._ONE * len(fields))
        for entry, (_, field) in zip(self._array, fields, strict=True):
            entry.fieldId, entry.scopeId = field.number, field.scope

    def run(self) -> int:
        return self._call(self._handle, len(self._fields), self._array) if self._fields else SUCCESS

    def store(self, row: Row) -> Failures:
        flat = self._format.unpack_from(self._array) if self._fields else ()
        failures: list[tuple[int, int]] = []
        for index, (position, field) in enumerate(self._fields):
            kind, code, bits = flat[3 * index : 3 * index + 3]
            if code:
                row[position] = None
                failures.append((position, FUNCTION_NOT_FOUND if code == INVALID_ARGUMENT else code))
                continue
            if kind == UNSIGNED_INT:
                value: float = (bits & 0xFFFFFFFF) * field.factor
            elif kind == UNSIGNED_LONG_LONG:
                value = bits * field.factor
            else:
                value = decoded(kind, bits) * field.factor
            row[position] = value if field.largest is None else min(value, field.largest)
        if failures:
            self._drop({position for position, code in failures if code in MISSING})
        return failures

    def _drop(self, positions: set[int]) -> None:
        if positions:
            self._lay_out([(position, field) for position, field in self._fields if position not in positions])
