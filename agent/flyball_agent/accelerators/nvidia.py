"""NVIDIA GPUs, read with NVML. It handles lost devices and reloaded drivers."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.nvidia_columns import COLUMNS, MIG_GPM_METRICS
from flyball_agent.accelerators.nvidia_device import NvidiaDevice
from flyball_agent.accelerators.nvidia_events import XidWatch
from flyball_agent.accelerators.nvidia_inventory import describe_device
from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    SESSION_ENDED,
    Nvml,
    NvmlError,
    NvmlFault,
    explain,
)
from flyball_agent.accelerators.pci import has_display_of
from flyball_agent.accelerators.retry import Retry
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Value
from flyball_proto.layout import Column
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

NAME = "nvidia"
_VENDOR = 0x10DE
_SEARCH_SECONDS = 10.0
_REOPEN_SECONDS = (1.0, 30.0)
_RENEWAL_SECONDS = (30.0, 600.0)  # opening a session may take seconds, in which no GPU is read
_MAX_EVENTS = 1024


@dataclass(slots=True)
class _Results:
    """The results of the newest reading."""

    columns: tuple[Column, ...] = ()
    unavailable: tuple[UnavailableReading, ...] = ()
    gpus: list[pb.Gpu] = field(default_factory=list)
    processes: list[pb.GpuProcess] = field(default_factory=list)


class NvidiaProbe:
    """The accelerator of NVIDIA GPUs; see `accelerator.Accelerator`."""

    name = NAME
    every_seconds = 0.0
    blocking = True
    metrics: Sequence[Metric] = (
        *dict.fromkeys(column.metric for column in COLUMNS),
        m.MIG_MEMORY_USED,
        m.MIG_MEMORY_TOTAL,
        *MIG_GPM_METRICS.values(),
        m.NVLINK_LINK_ERRORS,
        m.NVLINK_LINK_UP,
    )

    def __init__(
        self,
        nvml: Nvml,
        sys_root: Path = Path("/sys"),
        *,
        processes: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._nvml = nvml
        self._sys_root = sys_root
        self._with_processes = processes
        self._monotonic = monotonic
        self._wall_ns = wall_ns
        self._devices: dict[str, NvidiaDevice] = {}
        self._unknown_devices: dict[str, NvmlFault] = {}
        self._xids: XidWatch | None = None
        self._session_fault: NvmlFault | None = None
        self._retry = Retry(*_REOPEN_SECONDS)
        self._renewal = Retry(*_RENEWAL_SECONDS)
        self._next_find = 0.0
        self._changed = True
        self._fresh = False
        self._results = _Results()
        self._events: deque[pb.HostEvent] = deque(maxlen=_MAX_EVENTS)

    @property
    def processes(self) -> Sequence[pb.GpuProcess]:
        """The processes. While a reading hangs, they are those of the last reading, without amounts."""
        if self._fresh:
            return self._results.processes
        return [
            pb.GpuProcess(gpu=process.gpu, pid=process.pid, mig_instance=process.mig_instance)
            for process in self._results.processes
        ]

    def take_events(self) -> list[pb.HostEvent]:
        events = []
        while self._events:
            events.append(self._events.popleft())
        return events

    def describe(self) -> list[pb.Gpu]:
        return list(self._results.gpus)

    def read(self) -> ProbeSample:
        """Read every device. The columns of a device that does not respond stay, with a reason."""
        now = self._monotonic()
        self._fresh = False
        self._renew_session(now)
        if not self._nvml.is_open and now >= self._retry.at:
            self._open(now)
        if self._nvml.is_open:
            self._read_devices(now)
        if not self._devices:
            raise self._absence_reason()
        self._update_results()
        self._fresh = True
        return ProbeSample(self._results.columns, self._values(), self._results.unavailable)

    # -- sessions with the driver --

    def _open(self, now: float) -> None:
        try:
            self._nvml.open()
            self._attach(now)
        except NvmlError as error:
            self._retry.failed(now)
            self._nvml.close()
            self._session_fault = explain(error.call, error.code)
            self._changed = True
            return
        if self._session_fault is not None and self._devices:
            self._add_event("driver_returned", "", "the driver responds again")
        self._session_fault = None
        self._retry.succeeded()
        self._changed = True

    def _attach(self, now: float) -> None:
        """Find the devices. Those of an earlier session continue under their UUID."""
        self._xids, self._unknown_devices = XidWatch(self._nvml), {}
        found: set[str] = set()
        for index in range(self._nvml.number("nvmlDeviceGetCount_v2")):
            try:
                handle = self._nvml.handle("nvmlDeviceGetHandleByIndex_v2", index)
                uuid = self._nvml.text("nvmlDeviceGetUUID", handle)
            except NvmlError as error:
                if error.code in SESSION_ENDED:
                    raise
                self._unknown_devices[str(index)] = explain(error.call, error.code)
                continue
            self._adopt(self._devices.setdefault(uuid, NvidiaDevice(uuid)), handle, index, now)
            found.add(uuid)
        for uuid, device in self._devices.items():
            if uuid not in found:
                self._lose(device)
        if self._unknown_devices and not self._renewal.at:
            self._renewal.failed(now)

    def _adopt(self, device: NvidiaDevice, handle: c_void_p, index: int, now: float) -> None:
        device.attach(self._nvml, handle, index, now)
        fault = self._xids.watch(handle, device.uuid) if self._xids is not None else None
        if fault is not None:
            device.deny_xids(fault)

    def _find_lost(self, now: float) -> None:
        """Search for devices without a handle: those that were lost when the session was opened may have come back."""
        missing = [device for device in self._devices.values() if device.handle is None]
        if not missing or now < self._next_find:
            return
        self._next_find = now + _SEARCH_SECONDS
        for device in missing:
            try:
                handle = self._nvml.handle("nvmlDeviceGetHandleByUUID", device.uuid.encode())
                index = self._nvml.number("nvmlDeviceGetIndex", handle)
            except NvmlError:
                continue
            self._adopt(device, handle, index, now)

    def _close(self) -> None:
        if self._xids is not None:
            self._xids.close()
            self._xids = None
        for device in self._devices.values():
            device.detach()
        self._nvml.close()
        self._changed = True

    def _renew_session(self, now: float) -> None:
        """Reopen the session at intervals while a device is lost: it can be reset only while nobody uses it."""
        missing = bool(self._unknown_devices) or any(device.lost for device in self._devices.values())
        if missing and self._nvml.is_open and now >= self._renewal.at:
            self._renewal.failed(now)
            self._close()
            self._retry.at = now

    # -- readings --

    def _read_devices(self, now: float) -> None:
        self._find_lost(now)
        for device in self._devices.values():
            was_lost = device.lost
            try:
                device.read(self._nvml, now)
            except NvmlError as error:
                if error.code in SESSION_ENDED:
                    self._lose_driver(now, error)
                    return
                if error.code != GPU_IS_LOST:
                    raise
                self._lose(device)
            if was_lost and not device.lost:
                self._add_event("gpu_returned", device.uuid, "the GPU responds again")
        self._take_xids()

    def _lose(self, device: NvidiaDevice) -> None:
        if not device.lost:
            self._add_event("gpu_lost", device.uuid, "the GPU no longer responds")
            self._renewal.succeeded()
            self._renewal.failed(self._monotonic())
        device.lose()

    def _lose_driver(self, now: float, error: NvmlError) -> None:
        self._add_event("driver_lost", "", str(error))
        self._close()
        self._session_fault = explain(error.call, error.code)
        self._retry.failed(now)

    def _take_xids(self) -> None:
        if self._xids is None:
            return
        for event in self._xids.take(self._wall_ns):
            self._events.append(event)
            if event.resource in self._devices:
                self._devices[event.resource].count_xid()

    def _add_event(self, kind: str, uuid: str, text: str) -> None:
        self._events.append(pb.HostEvent(kind=kind, time_ns=self._wall_ns(), resource=uuid, text=text))

    # -- results --

    def _values(self) -> list[Value]:
        values: list[Value] = []
        for device in self._devices.values():
            values += device.values()
        return values

    def _update_results(self) -> None:
        """Update the results; columns, unavailable readings and inventory only after a change."""
        processes: list[pb.GpuProcess] = []
        if self._with_processes:
            for device in self._devices.values():
                if device.processes is not None and not device.lost:
                    processes += device.processes.processes
        self._results.processes = processes
        if not self._changed and not any(device.changed for device in self._devices.values()):
            return
        self._changed = False
        columns = tuple(column for device in self._devices.values() for column in device.columns())
        if columns != self._results.columns:
            self._results.columns = columns
        self._results.unavailable = tuple(self._unavailable())
        if self._nvml.is_open:
            self._results.gpus = self._describe()
        for device in self._devices.values():
            device.changed = False

    def _describe(self) -> list[pb.Gpu]:
        """Describe the devices; the description of a lost device stays."""
        before = {gpu.uuid: gpu for gpu in self._results.gpus}
        described = []
        for device in self._devices.values():
            if device.lost and device.uuid in before:
                described.append(before[device.uuid])
            else:
                described.append(describe_device(self._nvml, device))
        return described

    def _unavailable(self) -> list[UnavailableReading]:
        if self._session_fault is not None:
            fault = self._session_fault
            return [UnavailableReading(NAME, "", "", Reason.FAILED, fault.detail, fault.remedy)]
        unavailable: list[UnavailableReading] = []
        for index, fault in self._unknown_devices.items():
            unavailable.append(UnavailableReading(NAME, "", f"index {index}", fault.reason, fault.detail, fault.remedy))
        for device in self._devices.values():
            if device.lost:
                fault = explain("NVML", GPU_IS_LOST)
                unavailable.append(UnavailableReading(NAME, "", device.uuid, fault.reason, fault.detail, fault.remedy))
                continue
            unavailable += device.unavailable(NAME)
        return unavailable

    def _absence_reason(self) -> Unavailable:
        """Return the reason why no device was ever found."""
        if self._session_fault is None:
            if self._unknown_devices:
                fault = next(iter(self._unknown_devices.values()))
                return Unavailable(fault.detail, fault.remedy)
            return Absent("the NVIDIA driver finds no GPU")
        fault = self._session_fault
        if fault.reason is Reason.ABSENT and has_display_of(self._sys_root, _VENDOR):
            return Unavailable(f"the host has an NVIDIA GPU, but {fault.detail}", fault.remedy)
        kinds = {Reason.ABSENT: Absent, Reason.DENIED: Denied}
        return kinds.get(fault.reason, Unavailable)(fault.detail, fault.remedy)
