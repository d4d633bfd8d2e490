"""GPU memory through NVIDIA's library, if the machine has it. It is loaded only when a profile starts."""

import ctypes
from collections.abc import Container
from typing import NamedTuple

LIBRARY = "libnvidia-ml.so.1"

_MOST_PROCESSES = 256
_UNKNOWN = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Process(ctypes.Structure):
    """`nvmlProcessInfo_t` of nvml.h."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class GpuUse(NamedTuple):
    """Bytes in use on each GPU, and by the processes of the tree; None if unknown."""

    used_bytes: tuple[int, ...] | None
    tree_bytes: int | None


class GpuMemory:
    """The GPUs of this machine. The first reading loads the library. `reason` is why there is nothing to read."""

    def __init__(self, library: str = LIBRARY) -> None:
        self.reason = ""
        self._name = library
        self._gpus: list[ctypes.c_void_p] | None = None

    def _load(self) -> list[ctypes.c_void_p]:
        """Load the library and return the handles of all GPUs."""
        found: list[ctypes.c_void_p] = []
        try:
            self._library = ctypes.CDLL(self._name)
            found = self._found()
        except OSError:
            self.reason = f"no NVIDIA driver: {self._name} is not installed"
        except AttributeError as error:
            self.reason = f"the NVIDIA driver is too old: {error}"
        if not found:
            self.reason = self.reason or "no NVIDIA GPU"
        return found

    def _found(self) -> list[ctypes.c_void_p]:
        """Return the handles of all GPUs."""
        number = ctypes.c_uint()
        if self._library.nvmlInit_v2() or self._library.nvmlDeviceGetCount_v2(ctypes.byref(number)):
            self.reason = "the NVIDIA driver does not respond"
            return []
        handles = []
        for place in range(number.value):
            handle = ctypes.c_void_p()
            if not self._library.nvmlDeviceGetHandleByIndex_v2(place, ctypes.byref(handle)):
                handles.append(handle)
        return handles

    def read(self, pids: Container[int]) -> GpuUse:
        """Read the memory of all GPUs."""
        if self._gpus is None:
            self._gpus = self._load()
        if not self._gpus:
            return GpuUse(None, None)
        used = [self._used(gpu) for gpu in self._gpus]
        shares = [self._used_by(gpu, pids) for gpu in self._gpus]
        every = tuple(each for each in used if each is not None)
        known = [share for share in shares if share is not None]
        return GpuUse(every if len(every) == len(used) else None, sum(known) if known else None)

    def _used(self, gpu: ctypes.c_void_p) -> int | None:
        memory = _Memory()
        return None if self._library.nvmlDeviceGetMemoryInfo(gpu, ctypes.byref(memory)) else int(memory.used)

    def _used_by(self, gpu: ctypes.c_void_p, pids: Container[int]) -> int | None:
        """Return the bytes that these processes use; None if unknown.

        In a container, the driver may number processes differently: then none is found, which is not 0.
        """
        processes, number = (_Process * _MOST_PROCESSES)(), ctypes.c_uint(_MOST_PROCESSES)
        if self._library.nvmlDeviceGetComputeRunningProcesses_v3(gpu, ctypes.byref(number), processes):
            return None
        found = [each.used for each in processes[: number.value] if each.pid in pids]
        if number.value and not found:
            return None
        return None if _UNKNOWN in found else sum(found)

    def close(self) -> None:
        """Release the library."""
        if self._gpus:
            self._library.nvmlShutdown()
        self._gpus = []
