"""XID errors from the driver's event queue. It needs neither the kernel log nor a privilege."""

import ctypes
from collections.abc import Callable, Mapping

from flyball_agent.accelerators.nvml import SUCCESS, Nvml, NvmlError, NvmlFault, explain
from flyball_proto.v1 import telemetry_pb2 as pb

XID = 8  # nvmlEventTypeXidCriticalError
_MAX_PER_TICK = 64

# Short explanations; NVIDIA's "XID Errors" guide lists all codes.
XID_TEXTS: Mapping[int, str] = {
    13: "graphics engine exception (usually the application)",
    31: "memory page fault (usually the application)",
    43: "the application stopped on the GPU",
    45: "preemptive clean-up after another error",
    48: "double-bit memory error",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    63: "a memory row will be remapped",
    64: "a memory row could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    92: "many single-bit memory errors",
    94: "contained memory error",
    95: "uncontained memory error",
    109: "context switch timed out",
    119: "the GPU system processor (GSP) timed out",
    120: "error of the GPU system processor (GSP)",
    140: "unrecovered memory error",
}


class XidWatch:
    """The event set of one session with the driver."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self._set: ctypes.c_void_p | None = None
        self._uuids: dict[int, str] = {}
        self._data = nvml.structures.c_nvmlEventData_t()
        self._wait = nvml.call("nvmlEventSetWait_v2")

    def watch(self, handle: ctypes.c_void_p, uuid: str) -> NvmlFault | None:
        """Subscribe to the events of a device. Return the reason if the device does not support them."""
        try:
            if self._set is None:
                self._set = self._nvml.handle("nvmlEventSetCreate")
            self._nvml.check("nvmlDeviceRegisterEvents", handle, ctypes.c_ulonglong(XID), self._set)
        except NvmlError as error:
            return explain(error.call, error.code)
        self._uuids[handle.value or 0] = uuid
        return None

    def take(self, wall_ns: Callable[[], int]) -> list[pb.HostEvent]:
        """Return the events since the last call, without waiting."""
        events: list[pb.HostEvent] = []
        if not self._uuids:
            return events
        while len(events) < _MAX_PER_TICK and self._wait(self._set, ctypes.byref(self._data), 0) == SUCCESS:
            address = ctypes.cast(self._data.device, ctypes.c_void_p).value or 0
            uuid, code = self._uuids.get(address, ""), int(self._data.eventData)
            text = XID_TEXTS.get(code, "see NVIDIA's XID guide")
            events.append(pb.HostEvent(kind="gpu_xid", time_ns=wall_ns(), resource=uuid, code=code, text=text))
        return events

    def close(self) -> None:
        """Free the event set."""
        if self._set is not None:
            self._nvml.call("nvmlEventSetFree")(self._set)
            self._set, self._uuids = None, {}
