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
from flyball_agent.accelerators.nvidia_columns import GPM_METRICS, POSITIONS, Field
from flyball_agent.accelerators.nvml import (
    FUNCTION_NOT_FOUND,
    INVALID_ARGUMENT,
    NO_DATA,
    NOT_SUPPORTED,
    SUCCESS,
    Nvml,
    NvmlCall,
    NvmlError,
)
from flyball_agent.probes.probe import Value

_MISSING = (NOT_SUPPORTED, FUNCTION_NOT_FOUND)  # for fields unknown to an old driver, see `FieldsQuery.store`
_DOUBLE, _UNSIGNED_INT, _SIGNED_LONG_LONG, _SIGNED_INT = 0, 1, 4, 5  # nvmlValueType_t

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
    """A call that fills a structure. `convert` turns its unpacked fields into values."""

    def __init__(
        self,
        call: NvmlCall,
        columns: Sequence[DeviceColumn],
        layout: str,
        convert: Callable[[tuple[Any, ...]], Sequence[Value]],
        *arguments: Any,
        version: int | None = None,
    ) -> None:
        self.call = call.name
        self._call = call
        self._format = struct.Struct(layout)
        self._buffer = ctypes.create_string_buffer(self._format.size)
        if version is not None:
            struct.pack_into("I", self._buffer, 0, version)
        self._arguments = (*arguments, self._buffer)
        self._convert = convert
        self.positions = tuple(POSITIONS[column] for column in columns)

    def run(self) -> int:
        return self._call(*self._arguments)

    def store(self, row: Row) -> Failures:
        for position, value in zip(self.positions, self._convert(self._format.unpack_from(self._buffer)), strict=True):
            row[position] = value
        return ()


class FieldsQuery(DeviceQuery):
    """Many fields in one call. Fields that the device does not support are omitted from the next call."""

    _ONE = "24xIIQ"  # nvmlFieldValue_t: type, code and value of each

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, fields: Sequence[Field]) -> None:
        self._call = nvml.call("nvmlDeviceGetFieldValues")
        self.call = self._call.name
        self._handle = handle
        self._structures = nvml.structures
        self._wanted = [(field, scope, POSITIONS[column], factor) for field, scope, column, factor in fields]
        self.reset()

    def reset(self) -> None:
        self._lay_out(self._wanted)

    def _lay_out(self, fields: list[tuple[int, int, int, float]]) -> None:
        self._fields = fields
        self.positions = tuple(position for _, _, position, _ in fields)
        self._array = (self._structures.c_nvmlFieldValue_t * len(fields))()
        self._format = struct.Struct("=" + self._ONE * len(fields))
        for entry, (field, scope, _, _) in zip(self._array, fields, strict=True):
            entry.fieldId, entry.scopeId = field, scope

    def run(self) -> int:
        return self._call(self._handle, len(self._fields), self._array) if self._fields else SUCCESS

    def store(self, row: Row) -> Failures:
        flat = self._format.unpack_from(self._array) if self._fields else ()
        failures: list[tuple[int, int]] = []
        for index, (_, _, position, factor) in enumerate(self._fields):
            kind, code, value = flat[3 * index : 3 * index + 3]
            if code:
                row[position] = None
                failures.append((position, FUNCTION_NOT_FOUND if code == INVALID_ARGUMENT else code))
            elif kind == _UNSIGNED_INT:
                row[position] = (value & 0xFFFFFFFF) * factor
            else:
                row[position] = _field_value(kind, value) * factor
        if failures:
            self._drop({position for position, code in failures if code in _MISSING})
        return failures

    def _drop(self, positions: set[int]) -> None:
        if positions:
            self._lay_out([field for field in self._fields if field[2] not in positions])


def _field_value(kind: int, bits: int) -> float:
    if kind == _DOUBLE:
        return float(struct.unpack("=d", struct.pack("=Q", bits))[0])
    if kind == _SIGNED_LONG_LONG:
        return int(struct.unpack("=q", struct.pack("=Q", bits))[0])
    if kind == _SIGNED_INT:
        return int(struct.unpack("=i", struct.pack("=I", bits & 0xFFFFFFFF))[0])
    return bits


class LinksQuery(DeviceQuery):
    """The number of active NVLinks, with one call per link."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._call = nvml.call("nvmlDeviceGetNvLinkState")
        self.call = self._call.name
        self._handle = handle
        self._links = int(nvml.structures.NVML_NVLINK_MAX_LINKS)
        self._buffer = ctypes.c_uint()
        self._active = 0
        self.positions = (POSITIONS[DeviceColumn(m.NVLINK_ACTIVE)],)

    def run(self) -> int:
        self._active = 0
        for link in range(self._links):
            code = self._call(self._handle, link, ctypes.byref(self._buffer))
            if code == SUCCESS:
                self._active += self._buffer.value
            elif link and code in (INVALID_ARGUMENT, NOT_SUPPORTED):  # past the last link of this device
                break
            else:
                return code
        return SUCCESS

    def store(self, row: Row) -> Failures:
        row[self.positions[0]] = self._active
        return ()


class GpmQuery(DeviceQuery):
    """Activity between the sample of this tick and the previous one. The first tick has no value."""

    _ONE = struct.Struct("=4xId24x")  # nvmlGpmMetric_t: code and value

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._nvml = nvml
        self._handle = handle
        self._sample = nvml.call("nvmlGpmSampleGet")
        self._get: Any = None
        self._ids = tuple(GPM_METRICS)
        self._old: ctypes.c_void_p | None = None
        self._new: ctypes.c_void_p | None = None
        self._samples = 0
        self.call = "nvmlGpmMetricsGet"
        self.positions = tuple(POSITIONS[DeviceColumn(metric)] for metric in GPM_METRICS.values())

    def run(self) -> int:
        if self._get is None and (code := self._prepare()):
            return code
        assert self._old is not None  # noqa: S101  `_prepare` allocates both
        assert self._new is not None  # noqa: S101
        self._old, self._new = self._new, self._old
        if code := self._sample(self._handle, self._new):
            return code
        self._samples += 1
        if self._samples < 2:
            return SUCCESS
        self._get.sample1 = ctypes.cast(self._old, type(self._get.sample1))
        self._get.sample2 = ctypes.cast(self._new, type(self._get.sample2))
        return self._nvml.call(self.call)(ctypes.byref(self._get))

    def _prepare(self) -> int:
        support = self._nvml.structures.c_nvmlGpmSupport_t()
        support.version = self._nvml.structures.NVML_GPM_SUPPORT_VERSION
        if code := self._nvml.call("nvmlGpmQueryDeviceSupport")(self._handle, ctypes.byref(support)):
            return code
        if not support.isSupportedDevice:
            return NOT_SUPPORTED
        try:
            self._old = self._nvml.handle("nvmlGpmSampleAlloc")
            self._new = self._nvml.handle("nvmlGpmSampleAlloc")
        except NvmlError as error:
            return error.code
        self._get = self._nvml.structures.c_nvmlGpmMetricsGet_t()
        self._get.version = self._nvml.structures.NVML_GPM_METRICS_GET_VERSION
        self._get.numMetrics = len(self._ids)
        for position, metric in enumerate(self._ids):
            self._get.metrics[position].metricId = metric
        return SUCCESS

    def store(self, row: Row) -> Failures:
        if self._samples < 2:
            return [(position, NO_DATA) for position in self.positions]
        failures = []
        start = type(self._get).metrics.offset
        for index, position in enumerate(self.positions):
            code, percent = self._ONE.unpack_from(self._get, start + index * self._ONE.size)
            row[position] = None if code else percent / 100
            if code:
                failures.append((position, code))
        return failures

    def close(self) -> None:
        for sample in (self._old, self._new):
            if sample is not None:
                self._nvml.call("nvmlGpmSampleFree")(sample)
        self._get = self._old = self._new = None
        self._samples = 0
