"""The kinds of questions to an NVIDIA device: one driver call each, with the readings that its answer fills.

Buffers are allocated once a device and answers are unpacked from their bytes: a tick makes about a hundred calls.
"""

import ctypes
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import Slot
from flyball_agent.accelerators.nvidia_slots import GPM_METRICS, PLACE, Field
from flyball_agent.accelerators.nvml import (
    FUNCTION_NOT_FOUND,
    INVALID_ARGUMENT,
    NO_DATA,
    NOT_SUPPORTED,
    SUCCESS,
    Call,
    Nvml,
    NvmlError,
)
from flyball_agent.probes.probe import Value

_LACKING = (NOT_SUPPORTED, FUNCTION_NOT_FOUND)  # a driver that is too old calls the field an invalid argument
_DOUBLE, _UNSIGNED_INT, _SIGNED_LONG_LONG, _SIGNED_INT = 0, 1, 4, 5  # nvmlValueType_t

Row = list[Value]
Failures = Sequence[tuple[int, int]]
"""Places in the row whose part of the answer failed, with the code."""


class Question(ABC):
    """One call on one device; `places` are those of the row that its answer fills."""

    call: str
    places: tuple[int, ...]

    @abstractmethod
    def ask(self) -> int:
        """Ask the driver; the code of NVML."""

    @abstractmethod
    def answer(self, row: Row) -> Failures:
        """Take the answer into the row; what in it failed."""

    def reset(self) -> None:  # noqa: B027  most have nothing to do
        """Ask for everything again, also for what the device lacked."""

    def close(self) -> None:  # noqa: B027  most have nothing to do
        """Let go of what the library lent."""


class NumberQuestion(Question):
    """A call that fills one unsigned number."""

    def __init__(self, call: Call, slot: Slot, factor: float, *arguments: Any) -> None:
        self.call = call.name
        self._call = call
        self._buffer = ctypes.c_uint()
        self._arguments = (*arguments, ctypes.byref(self._buffer))
        self._place = PLACE[slot]
        self._factor = factor
        self.places = (self._place,)

    def ask(self) -> int:
        return self._call(*self._arguments)

    def answer(self, row: Row) -> Failures:
        row[self._place] = self._buffer.value * self._factor
        return ()


class StructQuestion(Question):
    """A call that fills a structure; `take` turns its unpacked bytes into values."""

    def __init__(
        self,
        call: Call,
        slots: Sequence[Slot],
        layout: str,
        take: Callable[[tuple[Any, ...]], Sequence[Value]],
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
        self._take = take
        self.places = tuple(PLACE[slot] for slot in slots)

    def ask(self) -> int:
        return self._call(*self._arguments)

    def answer(self, row: Row) -> Failures:
        for place, value in zip(self.places, self._take(self._format.unpack_from(self._buffer)), strict=True):
            row[place] = value
        return ()


class FieldsQuestion(Question):
    """Many fields in one call. Fields that the device lacks are left out of the next one."""

    _ONE = "24xIIQ"  # nvmlFieldValue_t: type, code and value of each

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, fields: Sequence[Field]) -> None:
        self._call = nvml.call("nvmlDeviceGetFieldValues")
        self.call = self._call.name
        self._handle = handle
        self._structures = nvml.structures
        self._wanted = [(field, scope, PLACE[slot], factor) for field, scope, slot, factor in fields]
        self.reset()

    def reset(self) -> None:
        self._lay_out(self._wanted)

    def _lay_out(self, fields: list[tuple[int, int, int, float]]) -> None:
        self._fields = fields
        self.places = tuple(place for _, _, place, _ in fields)
        self._array = (self._structures.c_nvmlFieldValue_t * len(fields))()
        self._format = struct.Struct("=" + self._ONE * len(fields))
        for entry, (field, scope, _, _) in zip(self._array, fields, strict=True):
            entry.fieldId, entry.scopeId = field, scope

    def ask(self) -> int:
        return self._call(self._handle, len(self._fields), self._array) if self._fields else SUCCESS

    def answer(self, row: Row) -> Failures:
        flat = self._format.unpack_from(self._array) if self._fields else ()
        failures: list[tuple[int, int]] = []
        for position, (_, _, place, factor) in enumerate(self._fields):
            kind, code, value = flat[3 * position : 3 * position + 3]
            if code:
                row[place] = None
                failures.append((place, FUNCTION_NOT_FOUND if code == INVALID_ARGUMENT else code))
            elif kind == _UNSIGNED_INT:
                row[place] = (value & 0xFFFFFFFF) * factor
            else:
                row[place] = _field_value(kind, value) * factor
        if failures:
            self._drop({place for place, code in failures if code in _LACKING})
        return failures

    def _drop(self, places: set[int]) -> None:
        if places:
            self._lay_out([field for field in self._fields if field[2] not in places])


def _field_value(kind: int, bits: int) -> float:
    if kind == _DOUBLE:
        return float(struct.unpack("=d", struct.pack("=Q", bits))[0])
    if kind == _SIGNED_LONG_LONG:
        return int(struct.unpack("=q", struct.pack("=Q", bits))[0])
    if kind == _SIGNED_INT:
        return int(struct.unpack("=i", struct.pack("=I", bits & 0xFFFFFFFF))[0])
    return bits


class LinksQuestion(Question):
    """How many NVLinks are up; each is asked for."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._call = nvml.call("nvmlDeviceGetNvLinkState")
        self.call = self._call.name
        self._handle = handle
        self._links = int(nvml.structures.NVML_NVLINK_MAX_LINKS)
        self._buffer = ctypes.c_uint()
        self._active = 0
        self.places = (PLACE[Slot(m.NVLINK_ACTIVE)],)

    def ask(self) -> int:
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

    def answer(self, row: Row) -> Failures:
        row[self.places[0]] = self._active
        return ()


class GpmQuestion(Question):
    """Activity between this tick's sample and the one before; the first tick has none yet."""

    _ONE = struct.Struct("=4xId24x")  # nvmlGpmMetric_t: code and value

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._nvml = nvml
        self._handle = handle
        self._take = nvml.call("nvmlGpmSampleGet")
        self._get: Any = None
        self._ids = tuple(GPM_METRICS)
        self._old: ctypes.c_void_p | None = None
        self._new: ctypes.c_void_p | None = None
        self._samples = 0
        self.call = "nvmlGpmMetricsGet"
        self.places = tuple(PLACE[Slot(metric)] for metric in GPM_METRICS.values())

    def ask(self) -> int:
        if self._get is None and (code := self._prepare()):
            return code
        assert self._old is not None  # noqa: S101  `_prepare` allocates both
        assert self._new is not None  # noqa: S101
        self._old, self._new = self._new, self._old
        if code := self._take(self._handle, self._new):
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

    def answer(self, row: Row) -> Failures:
        if self._samples < 2:
            return [(place, NO_DATA) for place in self.places]
        failures = []
        start = type(self._get).metrics.offset
        for position, place in enumerate(self.places):
            code, percent = self._ONE.unpack_from(self._get, start + position * self._ONE.size)
            row[place] = None if code else percent / 100
            if code:
                failures.append((place, code))
        return failures

    def close(self) -> None:
        for sample in (self._old, self._new):
            if sample is not None:
                self._nvml.call("nvmlGpmSampleFree")(sample)
        self._get = self._old = self._new = None
        self._samples = 0
