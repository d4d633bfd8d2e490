"""The MIG instances of an NVIDIA device: memory, activity and identity of each."""

import ctypes
from collections.abc import Iterable, Sequence

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.nvidia_columns import MIG_GPM_METRICS
from flyball_agent.accelerators.nvidia_gpm import GpmReader, gpm_support
from flyball_agent.accelerators.nvml import GPU_IS_LOST, NOT_FOUND, SESSION_ENDED, Nvml, NvmlError, NvmlFault, explain
from flyball_agent.probes.probe import Value
from flyball_proto.metric import Metric

_MEMORY_CALL = "nvmlDeviceGetMemoryInfo_v2"


class MigSlice:
    """One MIG instance. Activity counters exist since Hopper; instances of one GPU instance share them."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, device: ctypes.c_void_p) -> None:
        self.handle = handle
        self.uuid = nvml.text("nvmlDeviceGetUUID", handle)
        self.profile = nvml.text("nvmlDeviceGetName", handle).rpartition("MIG ")[2]
        self.values: Sequence[Value] = ()
        self.faults: dict[Metric, NvmlFault] = {}
        self._nvml = nvml
        self._device = device
        self._buffer = nvml.structures.c_nvmlMemory_v2_t()
        self._buffer.version = nvml.structures.nvmlMemory_v2
        self._activity: GpmReader | None = None
        self._activity_fault: NvmlFault | None = None

    def start(self) -> None:
        """Find out if activity counters exist."""
        try:
            if code := gpm_support(self._nvml, self._device):
                raise NvmlError("nvmlGpmQueryDeviceSupport", code)
            instance = self._nvml.number("nvmlDeviceGetGpuInstanceId", self.handle)
            self._activity = GpmReader(self._nvml, self._device, tuple(MIG_GPM_METRICS), instance)
        except NvmlError as error:
            _raise_if_gone(error)
            self._activity_fault = explain(error.call, error.code)
        self.forget()

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics of the instance, in the order of `values`."""
        memory = (m.MIG_MEMORY_USED, m.MIG_MEMORY_TOTAL)
        return memory if self._activity is None else (*memory, *MIG_GPM_METRICS.values())

    def read(self) -> bool:
        """Update values and faults. Return True if the faults changed."""
        before, self.faults = self.faults, {}
        if self._activity_fault is not None:
            self.faults[m.MIG_SM_ACTIVE] = self._activity_fault
        self.values = (*self.memory(), *self._read_activity())
        return self.faults != before

    def memory(self) -> tuple[int | None, int | None]:
        """Return used and total bytes; None if the driver does not provide them."""
        code = self._nvml.call(_MEMORY_CALL)(self.handle, ctypes.byref(self._buffer))
        if code:
            _raise_if_gone(NvmlError(_MEMORY_CALL, code))
            self.faults[m.MIG_MEMORY_USED] = explain(_MEMORY_CALL, code)
            return None, None
        return int(self._buffer.used), int(self._buffer.total)

    def forget(self) -> None:
        """Make every value unknown, because the device is lost."""
        self.values, self.faults = (None,) * len(self.metrics), {}

    def close(self) -> None:
        """Free the memory that the library allocated."""
        if self._activity is not None:
            self._activity.close()

    def _read_activity(self) -> Iterable[Value]:
        if self._activity is None:
            return ()
        code = self._activity.run()
        if code:
            _raise_if_gone(NvmlError("nvmlGpmMigSampleGet", code))
        found = self._activity.results() if not code else [(code, 0.0)] * len(MIG_GPM_METRICS)
        for metric, (part, _) in zip(MIG_GPM_METRICS.values(), found, strict=True):
            if part:
                self.faults[metric] = explain("nvmlGpmMigSampleGet", part)
        return [None if part else percent / 100 for part, percent in found]


def find_slices(nvml: Nvml, device: ctypes.c_void_p) -> tuple[bool, tuple[MigSlice, ...]]:
    """Return whether MIG is enabled, and the instances."""
    enabled, pending = ctypes.c_uint(), ctypes.c_uint()
    nvml.check("nvmlDeviceGetMigMode", device, ctypes.byref(enabled), ctypes.byref(pending))
    if not enabled.value:
        return False, ()
    found = []
    for index in range(nvml.number("nvmlDeviceGetMaxMigDeviceCount", device)):
        try:
            found.append(MigSlice(nvml, nvml.handle("nvmlDeviceGetMigDeviceHandleByIndex", device, index), device))
        except NvmlError as error:
            if error.code != NOT_FOUND:  # the indexes of instances may have gaps
                raise
    return True, tuple(found)


def _raise_if_gone(error: NvmlError) -> None:
    if error.code == GPU_IS_LOST or error.code in SESSION_ENDED:
        raise error
