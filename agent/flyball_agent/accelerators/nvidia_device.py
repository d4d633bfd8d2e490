"""One NVIDIA device: its queries, its newest readings, and the reasons of unavailable ones."""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import COLUMNS, POSITIONS
from flyball_agent.accelerators.nvidia_links import LinkCountersQuery
from flyball_agent.accelerators.nvidia_mig import MigSlice, find_slices
from flyball_agent.accelerators.nvidia_processes import ProcessReader
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, Row
from flyball_agent.accelerators.nvidia_query_lists import constant_queries, fast_queries, slow_queries
from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    SESSION_ENDED,
    SUCCESS,
    Nvml,
    NvmlError,
    NvmlFault,
    explain,
)
from flyball_agent.probes.probe import Value
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import Reason, UnavailableReading

SLOW_SECONDS = 10.0
RETRY_SECONDS = 600.0
"""Interval at which unsupported queries are tried again (a change of mode may enable them), and constants are read."""

_XIDS, _LOST, _MIG = (POSITIONS[DeviceColumn(metric)] for metric in (m.XIDS, m.LOST, m.MIG_ENABLED))


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
        self._answered: tuple[int, ...] = (_XIDS, _LOST)
        self._pick: Callable[[Row], tuple[Value, ...]] = itemgetter(*self._answered)
        self._fast: list[DeviceQuery] = []
        self._slow: list[DeviceQuery] = []
        self._constants: list[DeviceQuery] = []
        self._constants_due: list[DeviceQuery] = []
        self._links: LinkCountersQuery | None = None
        self._troubled: tuple[int, ...] = ()
        self._known = 0
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
        self._constants = constant_queries(nvml, handle)
        self._constants_due = list(self._constants)
        self._links = next((query for query in self._slow if isinstance(query, LinkCountersQuery)), None)
        self.processes = ProcessReader(nvml, handle, self.uuid)
        self._next_slow, self._next_retry = None, now + RETRY_SECONDS

    def detach(self) -> None:
        """Unbind the device from its session and forget its readings."""
        for query in (*self._fast, *self._slow):
            query.close()
        for instance in self.slices:
            instance.close()
        self.handle, self.processes, self.slices, self._links, self._troubled = None, None, (), None, ()
        self._fast, self._slow, self._constants, self._constants_due, self._unsupported = [], [], [], [], []
        self._forget()

    def lose(self) -> None:
        """Mark the device as lost, because it does not respond."""
        self.lost = True
        self._forget()
        self.row[_LOST] = 1
        self._next_retry = 0.0  # once it responds again, everything is read, and unsupported readings get their reason

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
            self._run_constants()
            self._read_mig(nvml, self.handle)
        for instance in self.slices:
            self.changed |= instance.read()
        self._read_processes(now, slow=slow)
        if self.lost:
            self.lost, self.changed = False, True
        self.row[_LOST] = 0
        if self.changed or (slow and self._has_news()):
            self._update_columns()

    def unavailable(self, probe: str) -> Iterable[UnavailableReading]:
        """Yield the unavailable readings. The resource `uuid/label` is one of a metric's several readings."""
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
        for instance in self.slices:
            for metric, fault in instance.faults.items():
                resource = f"{self.uuid}/{instance.uuid}"
                yield UnavailableReading(probe, metric.name, resource, fault.reason, fault.detail, fault.remedy)

    def columns(self) -> list[Column]:
        """Return a column for each reading that the device supports, then those of MIG instances and faulty NVLinks."""
        found = [
            Column(column.metric, column.labels(self.uuid, self.index))
            for column in (COLUMNS[position] for position in self._answered)
        ]
        for instance in self.slices:
            found += [Column(metric, (self.uuid, str(self.index), instance.uuid)) for metric in instance.metrics]
        for link in self._troubled:
            labels = (self.uuid, str(self.index), str(link))
            found += [Column(m.NVLINK_LINK_ERRORS, labels), Column(m.NVLINK_LINK_UP, labels)]
        return found

    def values(self) -> list[Value]:
        """Return one value for each column."""
        found = list(self._pick(self.row))
        for instance in self.slices:
            found += instance.values
        if self._troubled:
            now = {} if self._links is None or self.lost else self._links.troubled
            for link in self._troubled:
                found += now.get(link, (None, None))
        return found

    def _forget(self) -> None:
        xids = self.row[_XIDS]
        self.row = [None] * len(COLUMNS)
        self.row[_XIDS] = xids or 0
        self._faults, self.changed = {}, True
        for instance in self.slices:
            instance.forget()

    def _retry_unsupported(self, now: float) -> None:
        self._next_retry = now + RETRY_SECONDS
        self._next_slow = now
        for queries, query in self._unsupported:
            queries.append(query)
        self._unsupported = []
        self._constants_due[:] = self._constants
        for query in (*self._fast, *self._slow, *self._constants):
            query.reset()

    def _run(self, queries: list[DeviceQuery]) -> None:
        for query in tuple(queries):
            code = query.run()
            if code == SUCCESS:
                failures = query.store(self.row)
                if self._faults:
                    for position in query.positions:
                        if position in self._faults:
                            self._recover(query.positions, failures)
                            break
                for position, part_code in failures:
                    self._fail(position, explain(f"{query.call} ({COLUMNS[position].metric.name})", part_code))
            elif code == GPU_IS_LOST or code in SESSION_ENDED:
                raise NvmlError(query.call, code)
            else:
                self._fail_query(queries, query, explain(query.call, code))

    def _run_constants(self) -> None:
        """Read the constants that are not known yet. Those that the device does not support are removed."""
        self._run(self._constants_due)
        self._constants_due[:] = [
            query for query in self._constants_due if not self._faults.keys().isdisjoint(query.positions)
        ]

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

    def _recover(self, positions: Sequence[int], failures: Failures) -> None:
        """Delete the faults of readings that succeeded, also if another query failed before."""
        failed = {position for position, _ in failures}
        for position in positions:
            if position in self._faults and position not in failed:
                del self._faults[position]
                self.changed = True

    def _has_news(self) -> bool:
        """Return True if the slow queries found a value or a faulty NVLink that was not there before."""
        links = () if self._links is None else self._links.troubled
        return len(self.row) - self.row.count(None) != self._known or not set(self._troubled).issuperset(links)

    def _update_columns(self) -> None:
        """Leave out the columns that the device does not support. An unknown value keeps its column."""
        self._known = len(self.row) - self.row.count(None)
        troubled = self._troubled
        answered = tuple(
            position
            for position, value in enumerate(self.row)
            if value is not None or position == _XIDS or self._may_answer(position)
        )
        if self._links is not None:
            self._troubled = tuple(sorted({*troubled, *self._links.troubled}))
        if answered != self._answered or troubled != self._troubled:
            self._answered, self._pick, self.changed = answered, itemgetter(*answered), True

    def _may_answer(self, position: int) -> bool:
        fault = self._faults.get(position)
        return fault is not None and fault.reason is not Reason.UNSUPPORTED

    def _read_processes(self, now: float, *, slow: bool) -> None:
        if self.processes is None:
            return
        before = self.processes.fault
        self.processes.read(now, self.slices, slow=slow)
        if self.processes.fault != before:
            self.changed = True

    def _read_mig(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        try:
            enabled, found = find_slices(nvml, handle)
        except NvmlError as error:
            if error.code == GPU_IS_LOST or error.code in SESSION_ENDED:
                raise
            self.row[_MIG] = None
            self._fail(_MIG, explain(error.call, error.code))
            enabled, found = False, ()
        else:
            self.row[_MIG] = int(enabled)
            self._recover((_MIG,), ())
        if [instance.uuid for instance in found] != [instance.uuid for instance in self.slices]:
            for instance in self.slices:
                instance.close()
            self.slices, self.changed = found, True
            for instance in found:
                instance.start()
