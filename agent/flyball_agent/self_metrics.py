"""What the agent itself costs and loses, read like any other resource."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from flyball_agent.probes.probe import Sample, Value
from flyball_agent.runner import Slot
from flyball_proto.layout import Column
from flyball_proto.metric import counter, gauge

CPU = counter("agent_cpu_seconds_total", "seconds", "CPU time that the agent has used.", scale=1_000_000)
RESIDENT = gauge("agent_memory_resident_bytes", "bytes", "Memory of the agent that is resident.")
LATENESS = gauge(
    "agent_tick_lateness_seconds", "seconds", "How far past its due instant the previous tick began.", scale=1_000_000
)
MISSED = counter("agent_ticks_missed_total", "ticks", "Ticks that were skipped because the one before took too long.")
SPOOL = gauge("agent_spool_bytes", "bytes", "Size of the agent's spool; a segment goes when all of it is settled.")
DEGRADED = gauge("agent_spool_degraded", "boolean", "1 while records stay in memory because the disk refuses or hangs.")
LOST = counter("agent_records_lost_total", "records", "Records that were dropped, and declared lost.")
REFUSED = counter("agent_records_refused_total", "records", "Records that the collector refused.")
CONNECTED = gauge("agent_connected", "boolean", "1 while a collector listens to this agent.")
CONNECTIONS = counter("agent_connections_total", "connections", "Times that a collector welcomed this agent.")
SENT = counter("agent_sent_bytes_total", "bytes", "Bytes of messages handed to the stream.")
CLIENTS = gauge("agent_clients", "connections", "Training processes connected to the agent's socket.")
CLIENT_ERRORS = counter("agent_client_errors_total", "lines", "Lines from training processes that were refused.")
PROBE_SECONDS = counter(
    "agent_probe_seconds_total", "seconds", "Time spent in readings of a probe.", ("probe",), scale=1_000_000
)
PROBE_FAILURES = counter(
    "agent_probe_failures_total", "failures", "Times that a probe began to fail or stopped answering.", ("probe",)
)


@dataclass(slots=True)
class SelfMetrics:
    """Counts that the agent's parts keep of themselves; plain numbers, so that any thread may read them."""

    tick_lateness_seconds: float = 0.0
    ticks_missed: int = 0
    spool_bytes: int = 0
    spool_degraded: bool = False
    spool_hangs: bool = False
    records_lost: int = 0
    records_refused: int = 0
    connected: bool = False
    connections: int = 0
    sent_bytes: int = 0
    clients: int = 0
    client_errors: int = 0
    slots: Sequence[Slot] = field(default=())


class SelfProbe:
    """The agent's own cost and losses."""

    name = "agent"
    every_seconds = 0.0
    blocking = False
    metrics = (
        CPU, RESIDENT, LATENESS, MISSED, SPOOL, DEGRADED, LOST, REFUSED, CONNECTED, CONNECTIONS, SENT, CLIENTS,
        CLIENT_ERRORS, PROBE_SECONDS, PROBE_FAILURES,
    )  # fmt: skip

    def __init__(self, self_metrics: SelfMetrics) -> None:
        self._self_metrics = self_metrics
        self._slots: Sequence[Slot] | None = None
        self._columns: tuple[Column, ...] = ()
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._statm = _open_own("/proc/self/statm")

    def __del__(self) -> None:
        if self._statm >= 0:
            os.close(self._statm)

    def read(self) -> Sample:
        a = self._self_metrics
        if a.slots is not self._slots:
            self._slots = a.slots
            self._columns = self._make_columns()
        values: list[Value] = [
            time.process_time(),
            self._resident_bytes(),
            a.tick_lateness_seconds,
            a.ticks_missed,
            a.spool_bytes,
            a.spool_degraded or a.spool_hangs,
            a.records_lost,
            a.records_refused,
            a.connected,
            a.connections,
            a.sent_bytes,
            a.clients,
            a.client_errors,
        ]
        for slot in a.slots:
            values += (slot.seconds_total, slot.failures)
        return Sample(self._columns, values)

    def _make_columns(self) -> tuple[Column, ...]:
        plain = [Column(metric) for metric in self.metrics if not metric.labels]
        of_probes = [
            Column(metric, (slot.probe.name,))
            for slot in self._self_metrics.slots
            for metric in (PROBE_SECONDS, PROBE_FAILURES)
        ]
        return (*plain, *of_probes)

    def _resident_bytes(self) -> int | None:
        if self._statm < 0:
            return None
        return int(os.pread(self._statm, 200, 0).split()[1]) * self._page_bytes


def _open_own(path: str) -> int:
    """A descriptor to read again and again; -1 where there is no procfs."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
