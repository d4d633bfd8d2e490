"""The processes on an NVIDIA device, with their memory and utilisation."""

import ctypes
import struct
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Protocol

from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    INSUFFICIENT_SIZE,
    NOT_FOUND,
    SESSION_ENDED,
    SUCCESS,
    Nvml,
    NvmlError,
    NvmlFault,
    explain,
)
from flyball_proto.v1 import telemetry_pb2 as pb

_NOT_AVAILABLE = 0xFFFF_FFFF_FFFF_FFFF
_ENTRY = struct.Struct("=I4xQ8x")  # nvmlProcessInfo_t: pid and memory
_SAMPLE = struct.Struct("=I4xQI12x")  # nvmlProcessUtilizationSample_t: pid, microseconds, SM utilisation
_INITIAL_CAPACITY = 32
_MAX_CAPACITY = 4096
_RECENT_US = 1_000_000  # the first answer also has samples of seconds ago
_SHARES_SECONDS = 5.0
"""Time between two queries of shares: on an H100 with two processes, one takes 1.9 ms of CPU."""
_TOLERANCE_SECONDS = 0.1  # ticks are not exact
_COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3"
_UTILIZATION = "nvmlDeviceGetProcessUtilization"
_RARE = ("nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3")


Sample = tuple[int, int, int]
"""Process id, the driver's microseconds, and the utilisation of the SMs in percent."""


class Instance(Protocol):
    """A MIG instance, as far as its processes need it."""

    uuid: str
    handle: ctypes.c_void_p


class ProcessReader:
    """Reads compute processes at each tick; graphics and MPS processes, which change rarely, with the slow readings.

    On a device with MIG instances the processes are those of each instance: a query of the whole device needs a
    privilege, and the driver measures no utilisation of single processes.
    """

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, uuid: str) -> None:
        self._nvml = nvml
        self._handle = handle
        self._uuid = uuid
        self._capacity = _INITIAL_CAPACITY
        self._count = ctypes.c_uint()
        self._reserve()
        self._samples = ctypes.create_string_buffer(_INITIAL_CAPACITY * _SAMPLE.size)
        self._samples_since = 0
        self._shares: dict[int, float] = {}
        self._shares_due = 0.0
        self._rare: dict[int, int | None] = {}
        self._unsupported: set[str] = set()
        self.fault: NvmlFault | None = None
        self.processes: list[pb.GpuProcess] = []

    def read(self, now: float, instances: Sequence[Instance] = (), *, slow: bool) -> None:
        """Update `processes`, or set `fault` to the reason why they are unknown."""
        if instances:
            self.processes = [
                pb.GpuProcess(gpu=self._uuid, pid=pid, memory_used_bytes=memory_bytes, mig_instance=instance.uuid)
                for instance in instances
                for pid, memory_bytes in self._ask(_COMPUTE, instance.handle).items()
            ]
            return
        if slow:
            self._rare = {pid: memory for call in _RARE for pid, memory in self._ask(call, self._handle).items()}
        memory = self._rare | self._ask(_COMPUTE, self._handle)
        utilization = self._current_shares(memory, now) if len(memory) > 1 else {}
        self.processes = [
            pb.GpuProcess(
                gpu=self._uuid, pid=pid, memory_used_bytes=memory_bytes, utilization_ratio=utilization.get(pid)
            )
            for pid, memory_bytes in memory.items()
        ]

    def _reserve(self) -> None:
        self._array = ctypes.create_string_buffer(self._capacity * _ENTRY.size)

    def _ask(self, name: str, handle: ctypes.c_void_p) -> dict[int, int | None]:
        if name in self._unsupported:
            return {}
        call = self._nvml.call(name)
        self._count.value = self._capacity
        code = call(handle, ctypes.byref(self._count), self._array)
        while code == INSUFFICIENT_SIZE and self._capacity < _MAX_CAPACITY:
            self._capacity = min(_MAX_CAPACITY, max(2 * self._capacity, self._count.value + _INITIAL_CAPACITY))
            self._reserve()
            self._count.value = self._capacity
            code = call(handle, ctypes.byref(self._count), self._array)
        if code != SUCCESS:
            self._fail(name, code)
            return {}
        if name == _COMPUTE:
            self.fault = None
        filled = memoryview(self._array).cast("B")[: self._count.value * _ENTRY.size]
        return {
            pid: None if memory_bytes == _NOT_AVAILABLE else memory_bytes
            for pid, memory_bytes in _ENTRY.iter_unpack(filled)
        }

    def _fail(self, name: str, code: int) -> None:
        if code == GPU_IS_LOST or code in SESSION_ENDED:
            raise NvmlError(name, code)
        fault = explain(name, code)
        if fault.lasting:
            self._unsupported.add(name)
        if name == _COMPUTE:
            self.fault = fault

    def _current_shares(self, pids: Iterable[int], now: float) -> dict[int, float]:
        """Return the utilisation of each process, read every few seconds; processes that came since are missing.

        It is read only if several processes share the device; for a single one it is that of the device.
        """
        if now >= self._shares_due and _UTILIZATION not in self._unsupported:
            self._shares_due = now + _SHARES_SECONDS - _TOLERANCE_SECONDS
            self._shares = self._read_shares(pids)
        return self._shares

    def _read_shares(self, pids: Iterable[int]) -> dict[int, float]:
        """Return the utilisation of each process; empty if it is unknown.

        The driver has samples only of processes that worked since the last query, so the others were idle.
        """
        code = self._take_samples()
        if code == GPU_IS_LOST or code in SESSION_ENDED:
            raise NvmlError(_UTILIZATION, code)
        if code not in (SUCCESS, NOT_FOUND):
            if explain(_UTILIZATION, code).lasting:
                self._unsupported.add(_UTILIZATION)
            return {}
        newest = self._newest_samples() if code == SUCCESS else {}
        return {pid: newest.get(pid, 0.0) for pid in pids}

    def _take_samples(self) -> int:
        """Ask for the samples since the last query; the buffer grows until they fit."""
        call = self._nvml.call(_UTILIZATION)
        while True:
            capacity = len(self._samples) // _SAMPLE.size
            self._count.value = capacity
            since = ctypes.c_ulonglong(self._samples_since)
            code = call(self._handle, self._samples, ctypes.byref(self._count), since)
            if code != INSUFFICIENT_SIZE or capacity >= _MAX_CAPACITY:
                return code
            capacity = min(_MAX_CAPACITY, max(2 * capacity, self._count.value))
            self._samples = ctypes.create_string_buffer(capacity * _SAMPLE.size)

    def _newest_samples(self) -> dict[int, float]:
        filled = memoryview(self._samples).cast("B")[: self._count.value * _SAMPLE.size]
        shares, newest = newest_shares(_SAMPLE.iter_unpack(filled))
        self._samples_since = max(self._samples_since, newest)
        return shares


def newest_shares(samples: Iterable[Sample]) -> tuple[dict[int, float], int]:
    """Return the utilisation of each process in its newest sample, and the time of the newest one.

    Samples older than a second belong to processes that have been idle since.
    """
    ordered = sorted(samples, key=itemgetter(1))
    newest = ordered[-1][1] if ordered else 0
    recent = newest - _RECENT_US
    return {pid: min(percent, 100) / 100 for pid, at, percent in ordered if pid and at > recent}, newest
