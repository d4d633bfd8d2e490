"""The processes on an NVIDIA device, with their memory and utilisation."""

import ctypes
import struct
from typing import Any

from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    INSUFFICIENT_SIZE,
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
_INITIAL_CAPACITY = 32
_MAX_CAPACITY = 4096
_COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3"
_RARE = ("nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3")


class ProcessReader:
    """Reads compute processes at each tick; graphics and MPS processes, which change rarely, with the slow readings."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, uuid: str) -> None:
        self._nvml = nvml
        self._handle = handle
        self._uuid = uuid
        self._capacity = _INITIAL_CAPACITY
        self._count = ctypes.c_uint()
        self._reserve()
        self._samples: Any = None
        self._samples_since = 0
        self._rare: dict[int, int | None] = {}
        self._unsupported: set[str] = set()
        self._utilization: dict[int, float] = {}
        self.fault: NvmlFault | None = None
        self.processes: list[pb.GpuProcess] = []

    def read(self, *, slow: bool) -> None:
        """Update `processes`, or set `fault` to the reason why they are unknown."""
        if slow:
            self._rare = {pid: memory_bytes for call in _RARE for pid, memory_bytes in self._ask(call).items()}
        memory = self._rare | self._ask(_COMPUTE)
        utilization = self._read_utilization() if len(memory) > 1 else {}
        self.processes = [
            pb.GpuProcess(
                gpu=self._uuid, pid=pid, memory_used_bytes=memory_bytes, utilization_ratio=utilization.get(pid)
            )
            for pid, memory_bytes in memory.items()
        ]

    def _reserve(self) -> None:
        self._array = ctypes.create_string_buffer(self._capacity * _ENTRY.size)

    def _ask(self, name: str) -> dict[int, int | None]:
        if name in self._unsupported:
            return {}
        call = self._nvml.call(name)
        self._count.value = self._capacity
        code = call(self._handle, ctypes.byref(self._count), self._array)
        while code == INSUFFICIENT_SIZE and self._capacity < _MAX_CAPACITY:
            self._capacity = min(_MAX_CAPACITY, max(2 * self._capacity, self._count.value + _INITIAL_CAPACITY))
            self._reserve()
            self._count.value = self._capacity
            code = call(self._handle, ctypes.byref(self._count), self._array)
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

    def _read_utilization(self) -> dict[int, float]:
        """Return the newest utilisation of each process.

        It is read only if several processes share the device; for a single one it is that of the device.
        """
        name = "nvmlDeviceGetProcessUtilization"
        if name in self._unsupported:
            return {}
        if self._samples is None:
            self._samples = (self._nvml.structures.c_nvmlProcessUtilizationSample_t * 256)()
        self._count.value = len(self._samples)
        since = ctypes.c_ulonglong(self._samples_since)
        code = self._nvml.call(name)(self._handle, self._samples, ctypes.byref(self._count), since)
        if code == SUCCESS:
            newest = sorted(self._samples[: self._count.value], key=lambda sample: int(sample.timeStamp))
            self._utilization = {sample.pid: sample.smUtil / 100 for sample in newest if sample.pid}
            self._samples_since = max((int(sample.timeStamp) for sample in newest), default=self._samples_since)
        elif explain(name, code).lasting:
            self._unsupported.add(name)
        return self._utilization
