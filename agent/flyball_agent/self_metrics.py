"""Metrics of the agent itself: its resource use, its spool and its connections."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from flyball_agent.probes.probe import ProbeSample, Value
from flyball_agent.runner import ProbeSlot
from flyball_proto.layout import Column
from flyball_proto.metric import counter, gauge

CPU = counter("agent_cpu_seconds_total", "seconds", "CPU time used by the agent.", scale=1_000_000)
RESIDENT = gauge("agent_memory_resident_bytes", "bytes", "Resident memory of the agent.")
LATENESS = gauge(
    "agent_tick_lateness_seconds",
    "seconds",
    "Delay between the scheduled and the actual start of the previous tick.",
    scale=1_000_000,
)
MISSED = counter("agent_ticks_missed_total", "ticks", "Ticks skipped because the previous tick took too long.")
SPOOL = gauge(
    "agent_spool_bytes",
    "bytes",
    "Size of the agent's spool. A segment file is deleted once all of its records are stored or refused.",
)
DEGRADED = gauge(
    "agent_spool_degraded", "boolean", "1 while records are kept in memory because the disk refuses writes or hangs."
)
LOST = counter(
    "agent_records_lost_total", "records", "Records that were dropped and reported to the collector as lost."
)
REFUSED = counter("agent_records_refused_total", "records", "Records that the collector refused.")
CONNECTED = gauge("agent_connected", "boolean", "1 while the agent is connected to a collector.")
CONNECTIONS = counter("agent_connections_total", "connections", "Connections established to a collector.")
SENT = counter("agent_sent_bytes_total", "bytes", "Bytes of messages sent to the collector.")
CLIENTS = gauge("agent_clients", "connections", "Training processes connected to the agent's socket.")
CLIENT_ERRORS = counter("agent_client_errors_total", "lines", "Lines from training processes that were rejected.")
PROBE_SECONDS = counter(
    "agent_probe_seconds_total", "seconds", "Time spent reading a probe.", ("probe",), scale=1_000_000
)
PROBE_FAILURES = counter(
    "agent_probe_failures_total", "failures", "Times that a probe started to fail or timed out.", ("probe",)
)


@dataclass(slots=True)
class SelfMetrics:
    """Counts that the parts of the agent update; plain numbers, so that any thread may read them."""

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
    slots: Sequence[ProbeSlot] = field(default=())


class SelfProbe:
    """Reads the resource use and the losses of the agent."""

    name = "agent"
    every_seconds = 0.0
    blocking = False
    metrics = (
        CPU, RESIDENT, LATENESS, MISSED, SPOOL, DEGRADED, LOST, REFUSED, CONNECTED, CONNECTIONS, SENT, CLIENTS,
        CLIENT_ERRORS, PROBE_SECONDS, PROBE_FAILURES,
    )  # fmt: skip

    def __init__(self, self_metrics: SelfMetrics) -> None:
        self._counts = self_metrics
        self._slots: Sequence[ProbeSlot] | None = None
        self._columns: tuple[Column, ...] = ()
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._statm = _open_proc("/proc/self/statm")

    def __del__(self) -> None:
        if self._statm >= 0:
            os.close(self._statm)

    def read(self) -> ProbeSample:
        counts = self._counts
        if counts.slots is not self._slots:
            self._slots = counts.slots
            self._columns = self._make_columns()
        values: list[Value] = [
            time.process_time(),
            self._resident_bytes(),
            counts.tick_lateness_seconds,
            counts.ticks_missed,
            counts.spool_bytes,
            counts.spool_degraded or counts.spool_hangs,
            counts.records_lost,
            counts.records_refused,
            counts.connected,
            counts.connections,
            counts.sent_bytes,
            counts.clients,
            counts.client_errors,
        ]
        for slot in counts.slots:
            values += (slot.seconds_total, slot.failures)
        return ProbeSample(self._columns, values)

    def _make_columns(self) -> tuple[Column, ...]:
        unlabelled = [Column(metric) for metric in self.metrics if not metric.labels]
        per_probe = [
            Column(metric, (slot.probe.name,))
            for slot in self._counts.slots
            for metric in (PROBE_SECONDS, PROBE_FAILURES)
        ]
        return (*unlabelled, *per_probe)

    def _resident_bytes(self) -> int | None:
        if self._statm < 0:
            return None
        return int(os.pread(self._statm, 200, 0).split()[1]) * self._page_bytes


def _open_proc(path: str) -> int:
    """Open a file that is read at each tick; return -1 on systems without procfs."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
