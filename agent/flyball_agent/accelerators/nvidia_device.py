"""One NVIDIA device: its queries, its newest readings, and the reasons of unavailable ones."""

import ctypes
from collections.abc import Iterable, Sequence

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import COLUMNS, POSITIONS
from flyball_agent.accelerators.nvidia_processes import ProcessReader
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Row
from flyball_agent.accelerators.nvidia_query_lists import fast_queries, slow_queries
from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    NOT_FOUND,
    SESSION_ENDED,
    SUCCESS,
    Nvml,
    NvmlError,
    NvmlFault,
    explain,
)
from flyball_agent.probes.probe import Value
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import UnavailableReading

SLOW_SECONDS = 10.0
RETRY_SECONDS = 600.0
"""Interval at which unsupported queries are tried again: a change of mode may enable them."""

_XIDS, _LOST, _MIG = (POSITIONS[DeviceColumn(metric)] for metric in (m.XIDS, m.LOST, m.MIG_ENABLED))


class MigSlice:
    """One MIG instance of a device. Only its memory is measured separately."""

    __slots__ = ("_buffer", "_call", "_handle", "profile", "uuid")

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self.uuid = nvml.text("nvmlDeviceGetUUID", handle)
        self.profile = nvml.text("nvmlDeviceGetName", handle).rpartition("MIG ")[2]
        self._call = nvml.call("nvmlDeviceGetMemoryInfo_v2")
        self._buffer = nvml.structures.c_nvmlMemory_v2_t()
        self._buffer.version = nvml.structures.nvmlMemory_v2

    def memory(self) -> tuple[int | None, int | None]:
        """Return used and total bytes; None if the driver does not provide them."""
        if self._call(self._handle, ctypes.byref(self._buffer)) != SUCCESS:
            return None, None
        return int(self._buffer.used), int(self._buffer.total)


class NvidiaDevice:
    """A device that was found at least once. It outlives sessions with the driver; `attach` binds it to a new one."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self.index = 0
        self.handle: ctypes.c_void_p | None = None
        self.lost = False
        self.changed = True
        self.row: Row = [None] * len(COLUMNS)
        self.row[_XIDS] = 0
        self.slices: tuple[MigSlice, ...] = ()
        self.processes: ProcessReader | None = None
        self._faults: dict[int, NvmlFault] = {}
        self._temporary: set[int] = set()
        self._fast: list[DeviceQuery] = []
        self._slow: list[DeviceQuery] = []
        self._unsupported: list[tuple[list[DeviceQuery], DeviceQuery]] = []
        self._next_slow: float | None = None
        self._next_retry = 0.0

    @property
    def mig_enabled(self) -> bool:
        return bool(self.row[_MIG])

    def attach(self, nvml: Nvml, handle: ctypes.c_void_p, index: int, now: float) -> None:
        """Bind the device to a session with the driver."""
        self.detach()
        self.index, self.handle = index, handle
        self._fast, self._slow = fast_queries(nvml, handle), slow_queries(nvml, handle)
        self.processes = ProcessReader(nvml, handle, self.uuid)
        self._next_slow, self._next_retry = None, now + RETRY_SECONDS

    def detach(self) -> None:
        """Unbind the device from its session and forget its readings."""
        for query in (*self._fast, *self._slow):
            query.close()
        self.handle, self.processes, self.slices = None, None, ()
        self._fast, self._slow, self._unsupported = [], [], []
        self._forget()

    def lose(self) -> None:
        """Mark the device as lost, because it does not respond."""
        self.lost = True
        self._forget()
        self.row[_LOST] = 1

    def count_xid(self) -> None:
        """Count an XID error of this device."""
        self.row[_XIDS] = int(self.row[_XIDS] or 0) + 1

    def deny_xids(self, fault: NvmlFault) -> None:
        """Mark the XID count as unavailable, because the driver does not report XIDs of this device."""
        self.row[_XIDS] = None
        self._fail(_XIDS, fault)

    def read(self, nvml: Nvml, now: float) -> None:
        """Run the queries that are due. Raise `NvmlError` if the device is lost or the session has ended."""
        if self.handle is None:
            return
        if now >= self._next_retry:
            self._retry_unsupported(now)
        slow = self._next_slow is None or now >= self._next_slow
        self._run(self._fast)
        if slow:  # devices do this at different ticks, so that no tick runs the slow queries of all
            self._next_slow = now + (SLOW_SECONDS if self._next_slow else 1 + self.index % SLOW_SECONDS)
            self._run(self._slow)
            self._read_mig(nvml, self.handle)
        self._read_processes(slow=slow)
        if self.lost:
            self.lost, self.changed = False, True
        self.row[_LOST] = 0

    def unavailable(self, probe: str) -> Iterable[UnavailableReading]:
        """Yield the unavailable readings; the resource `uuid/label` is one of several readings of a metric."""
        if self.processes is not None and (fault := self.processes.fault) is not None:
            yield UnavailableReading(probe, "gpu_processes", self.uuid, fault.reason, fault.detail, fault.remedy)
        known_metrics = {COLUMNS[position].metric for position, value in enumerate(self.row) if value is not None}
        reported: set[tuple[str, str]] = set()
        for position, fault in self._faults.items():
            column = COLUMNS[position]
            resource = f"{self.uuid}/{column.label}" if column.label and column.metric in known_metrics else self.uuid
            if (column.metric.name, resource) not in reported:
                reported.add((column.metric.name, resource))
                yield UnavailableReading(probe, column.metric.name, resource, fault.reason, fault.detail, fault.remedy)

    def columns(self) -> list[Column]:
        """Return the columns of `row`, then two for each MIG instance."""
        found = [Column(column.metric, column.labels(self.uuid, self.index)) for column in COLUMNS]
        for instance in self.slices:
            labels = (self.uuid, str(self.index), instance.uuid)
            found += [Column(m.MIG_MEMORY_USED, labels), Column(m.MIG_MEMORY_TOTAL, labels)]
        return found

    def values(self) -> list[Value]:
        """Return one value for each column."""
        found = list(self.row)
        for instance in self.slices:
            found += instance.memory()
        return found

    def _forget(self) -> None:
        xids = self.row[_XIDS]
        self.row = [None] * len(COLUMNS)
        self.row[_XIDS] = xids or 0
        self._faults, self._temporary, self.changed = {}, set(), True

    def _retry_unsupported(self, now: float) -> None:
        self._next_retry = now + RETRY_SECONDS
        self._next_slow = now
        for queries, query in self._unsupported:
            queries.append(query)
        self._unsupported = []
        for query in (*self._fast, *self._slow):
            query.reset()
        self._temporary.update(self._faults)

    def _run(self, queries: list[DeviceQuery]) -> None:
        for query in tuple(queries):
            code = query.run()
            if code == SUCCESS:
                failures = query.store(self.row)
                if self._temporary:
                    self._recover(query.positions, {position for position, _ in failures})
                for position, part_code in failures:
                    self._fail(position, explain(f"{query.call} ({COLUMNS[position].metric.name})", part_code))
            elif code == GPU_IS_LOST or code in SESSION_ENDED:
                raise NvmlError(query.call, code)
            else:
                self._fail_query(queries, query, explain(query.call, code))

    def _fail_query(self, queries: list[DeviceQuery], query: DeviceQuery, fault: NvmlFault) -> None:
        for position in query.positions:
            self.row[position] = None
            self._fail(position, fault)
        if fault.lasting:
            queries.remove(query)
            self._unsupported.append((queries, query))

    def _fail(self, position: int, fault: NvmlFault) -> None:
        if self._faults.get(position) != fault:
            self._faults[position] = fault
            self.changed = True
        if fault.lasting:
            self._temporary.discard(position)
        else:
            self._temporary.add(position)

    def _recover(self, positions: Sequence[int], failed: set[int]) -> None:
        for position in self._temporary.intersection(positions) - failed:
            self._temporary.discard(position)
            del self._faults[position]
            self.changed = True

    def _read_processes(self, *, slow: bool) -> None:
        if self.processes is None:
            return
        before = self.processes.fault
        self.processes.read(slow=slow)
        if self.processes.fault != before:
            self.changed = True

    def _read_mig(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        try:
            enabled, found = _find_slices(nvml, handle)
        except NvmlError as error:
            if error.code == GPU_IS_LOST or error.code in SESSION_ENDED:
                raise
            self.row[_MIG] = None
            self._fail(_MIG, explain(error.call, error.code))
            enabled, found = False, ()
        else:
            self.row[_MIG] = int(enabled)
            self._recover((_MIG,), set())
        if [instance.uuid for instance in found] != [instance.uuid for instance in self.slices]:
            self.slices, self.changed = found, True


def _find_slices(nvml: Nvml, handle: ctypes.c_void_p) -> tuple[bool, tuple[MigSlice, ...]]:
    """Return whether MIG is enabled, and the instances."""
    enabled, pending = ctypes.c_uint(), ctypes.c_uint()
    nvml.check("nvmlDeviceGetMigMode", handle, ctypes.byref(enabled), ctypes.byref(pending))
    if not enabled.value:
        return False, ()
    found = []
    for index in range(nvml.number("nvmlDeviceGetMaxMigDeviceCount", handle)):
        try:
            found.append(MigSlice(nvml, nvml.handle("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)))
        except NvmlError as error:
            if error.code != NOT_FOUND:  # the indexes of instances may have gaps
                raise
    return True, tuple(found)
