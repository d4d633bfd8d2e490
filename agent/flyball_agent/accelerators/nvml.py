"""The only access to NVML: loads the library, times every call and explains errors."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from flyball_proto.unavailable_reading import Reason

UNLOADABLE = -1  # not a code of NVML: the library could not be loaded
SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
OPERATING_SYSTEM = 17
VERSION_MISMATCH = 18
NO_DATA = 21

SESSION_ENDED = frozenset({UNINITIALIZED, DRIVER_NOT_LOADED, VERSION_MISMATCH})
"""After these codes NVML must be initialised again before a call can succeed."""

_UNSUPPORTED = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND, 22, 25, 26})  # also: vGPU ECC, old version, deprecated
_DENIED = frozenset({NO_PERMISSION, OPERATING_SYSTEM})
_ABSENT = frozenset({DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, 28})

_TEXTS = {
    UNLOADABLE: "libnvidia-ml.so.1 exists but cannot be loaded",
    UNINITIALIZED: "the driver was unloaded",
    INVALID_ARGUMENT: "invalid argument",
    NOT_SUPPORTED: "not supported",
    NO_PERMISSION: "no permission",
    NOT_FOUND: "not found",
    INSUFFICIENT_SIZE: "insufficient size",
    DRIVER_NOT_LOADED: "the driver is not loaded",
    TIMEOUT: "timed out",
    LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 was not found",
    FUNCTION_NOT_FOUND: "not supported by this driver version",
    14: "the infoROM is corrupted",
    GPU_IS_LOST: "the GPU is lost",
    16: "the GPU needs a reset",
    OPERATING_SYSTEM: "the operating system refused",
    VERSION_MISMATCH: "library and kernel module have different versions",
    20: "out of memory",
    NO_DATA: "no data",
    999: "unknown error",
}
_REMEDIES = {
    UNLOADABLE: "reinstall the driver for this architecture; ldd shows missing dependencies of the library",
    NO_PERMISSION: "run the agent as root, or allow it to open /dev/nvidia*",
    DRIVER_NOT_LOADED: "load the nvidia kernel module (modprobe nvidia), and let the agent open /dev/nvidiactl",
    LIBRARY_NOT_FOUND: "with an NVIDIA GPU: install its driver; in a container: set NVIDIA_DRIVER_CAPABILITIES=utility",
    14: "reset the GPU; if that does not help, replace it",
    GPU_IS_LOST: "drain the host, look for XID 79 in dmesg, reset the GPU or reboot",
    16: "drain the host and reset the GPU (nvidia-smi --gpu-reset)",
    OPERATING_SYSTEM: "allow the agent to open /dev/nvidia* (cgroup device rules)",
    VERSION_MISMATCH: "the driver was upgraded while in use: reboot or reload the kernel module",
}


class NvmlError(Exception):
    """A call of NVML failed with `code`."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call}: {error_text(code)}")
        self.call = call
        self.code = code


@dataclass(frozen=True, slots=True)
class NvmlFault:
    """The reason of a failed call, for unavailable readings. The same failure always has the same text."""

    reason: Reason
    detail: str
    remedy: str

    @property
    def lasting(self) -> bool:
        """True if an immediate retry cannot succeed."""
        return self.reason in (Reason.UNSUPPORTED, Reason.DENIED)


def error_text(code: int) -> str:
    return _TEXTS.get(code, f"NVML error {code}")


def explain(call: str, code: int) -> NvmlFault:
    """Return the reason for the error code of a call."""
    return NvmlFault(_reason(code), f"{call}: {error_text(code)}", _REMEDIES.get(code, ""))


def _reason(code: int) -> Reason:
    if code in _UNSUPPORTED:
        return Reason.UNSUPPORTED
    if code in _DENIED:
        return Reason.DENIED
    return Reason.ABSENT if code in _ABSENT else Reason.FAILED


class NvmlCall:
    """One function of the library, counted and timed. A function that does not exist returns FUNCTION_NOT_FOUND."""

    __slots__ = ("_function", "calls", "longest_ns", "name", "total_ns")

    def __init__(self, name: str, function: Callable[..., int] | None) -> None:
        self.name = name
        self._function = function or _missing
        self.calls = 0
        self.total_ns = 0
        self.longest_ns = 0

    def __call__(self, *arguments: Any) -> int:
        started = perf_counter_ns()
        code = self._function(*arguments)
        took = perf_counter_ns() - started
        self.calls += 1
        self.total_ns += took
        if took > self.longest_ns:  # noqa: PLR1730  max() takes three times as long, and this runs for every call
            self.longest_ns = took
        return code


def _missing(*_: Any) -> int:
    return FUNCTION_NOT_FOUND


class Nvml:
    """The library. Only `open` loads it. With an empty path the dynamic loader searches for it."""

    def __init__(self, path: str = "") -> None:
        self._path = path or "libnvidia-ml.so.1"
        self._library: ctypes.CDLL | None = None
        self._structures: Any = None
        self.calls: dict[str, NvmlCall] = {}
        self.is_open = False

    def open(self) -> None:
        """Load and initialise the library. Raise `NvmlError` on failure."""
        if self._library is None:
            try:
                self._library = ctypes.CDLL(self._path)
            except OSError as error:
                missing = "No such file" in str(error)
                raise NvmlError("dlopen", LIBRARY_NOT_FOUND if missing else UNLOADABLE) from None
        self.check("nvmlInit_v2")
        self.is_open = True

    def close(self) -> None:
        """End the session and ignore errors."""
        if self.is_open:
            self.is_open = False
            self.call("nvmlShutdown")()

    @property
    def structures(self) -> Any:
        """The structures and constants of nvidia-ml-py, imported only if the library exists (5 MB, 20 ms)."""
        if self._structures is None:
            import pynvml  # noqa: PLC0415

            self._structures = pynvml
        return self._structures

    def call(self, name: str) -> NvmlCall:
        """Return the function of that name."""
        found = self.calls.get(name)
        if found is None:
            function = getattr(self._library, name, None) if self._library is not None else None
            found = self.calls[name] = NvmlCall(name, function)
        return found

    def has(self, name: str) -> bool:
        """Return True if this version of the library has the function."""
        return self._library is not None and hasattr(self._library, name)

    def check(self, name: str, *arguments: Any) -> None:
        """Call a function and raise `NvmlError` if it fails."""
        code = self.call(name)(*arguments)
        if code != SUCCESS:
            raise NvmlError(name, code)

    def text(self, name: str, *arguments: Any, size: int = 96) -> str:
        """Call a function that returns text."""
        buffer = ctypes.create_string_buffer(size)
        self.check(name, *arguments, buffer, ctypes.c_uint(size))
        return buffer.value.decode("utf-8", "replace")

    def number(self, name: str, *arguments: Any) -> int:
        """Call a function that returns one unsigned number."""
        buffer = ctypes.c_uint()
        self.check(name, *arguments, ctypes.byref(buffer))
        return buffer.value

    def handle(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """Call a function that returns a handle."""
        buffer = ctypes.c_void_p()
        self.check(name, *arguments, ctypes.byref(buffer))
        return buffer
