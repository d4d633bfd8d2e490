"""A fleet with everything that a page can show about hosts."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, ExportedCondition
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.page_renderer import PageRequest
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

NOW = 1_700_000_000 * 10**9
POWER = gauge("gpu_power_watts", "watts", "Draw.", ("gpu",), 10)
READ = counter("read_bytes_total", "bytes", "Read.")
CONDITION = ExportedCondition(
    BY_NAME["memory_exhaustion"], Severity.CRITICAL, Subject("a", "GPU-1"), left=60.0, probability=0.8
)


def layout_of(*gpus: str) -> KnownLayout:
    return KnownLayout(Layout((*(Column(POWER, (gpu,)) for gpu in gpus), Column(READ))))


def apply(fleet: Fleet, host: str, second: int, layout: KnownLayout, extras: bytes = b"") -> None:
    at = NOW + second * 10**9
    values = np.arange(layout.count, dtype=np.int64) + second
    fleet.apply(Tick(host, bytes(16), second, layout, values, None, at, at, at, at, 0, 0, extras, True))


def busy_fleet() -> Fleet:
    """Return a fleet of two hosts, one with everything that a page can show."""
    fleet = Fleet()
    extras = pb.Record(
        steps=[pb.StepReport(run="r1", step=7, steps=2, step_seconds=0.5)],
        gpu_processes=[pb.GpuProcess(gpu="GPU-1", pid=42, memory_used_bytes=1024)],
    ).SerializeToString()
    a = fleet.ensure("a")
    a.tenancy = pb.Tenancy(members=[pb.Member(pid=42, run="r1", rank=0, user="ann")])
    a.inventory = pb.Inventory(kernel="6.1", gpus=[pb.Gpu(uuid="GPU-1", index=0, model="H100", driver_version="570")])
    a.unavailable = (UnavailableReading("power", "", "", Reason.DENIED),)
    a.agent_version, a.connected, a.clock_skew_seconds, a.backlog_bytes = "0.1.0", True, -0.25, 12
    apply(fleet, "a", 0, layout_of("GPU-1", "GPU-2"), extras)
    apply(fleet, "b", 0, layout_of("GPU-3"))
    return fleet


def page_request(fleet: Fleet, second: int = 0) -> PageRequest:
    now_ns = NOW + second * 10**9
    found = DiagnosisSnapshot(active=[[CONDITION]])
    return PageRequest(b"# own", fleet.snapshot(now_ns), found, ExpositionFormat.TEXT, gzip=False, now_ns=now_ns)
