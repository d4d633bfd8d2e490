"""Simulate hosts with every reading that an agent can send and with problems. They use the wire protocol directly.

Their metrics are the agent's own declarations, so a new metric is sent without a change here.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Self

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.accelerators.nvidia_columns import (
    ENGINES,
    FEC_FIELDS,
    LIMIT_MARGIN_FIELDS,
    NVLINK_TOTAL_FIELDS,
    THROTTLE_BITS,
    THROTTLE_FIELDS,
)
from flyball_agent.probes.catalogue import linux_probes
from flyball_agent.probes.cpu import MODES
from flyball_agent.probes.pressure import RESOURCES
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_proto.layout import Column, Layout, digest
from flyball_proto.metric import Kind, Metric
from flyball_proto.packing import pack
from flyball_proto.unavailable_reading import Reason, UnavailableReading, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.raw_agent import RawAgent, definition

GIB = 1024**3
GPUS = 2
RUN, RANKS, SLOW_RANK = "llama-7b", 4, 1
DIVERGED = "diverged"
LABELS: dict[str, Sequence[str]] = {
    "array": ("md0",),
    "cause": ("corrected", "uncorrected"),
    "chip": ("k10temp",),
    "controller": ("mc0",),
    "core": ("0", "1"),
    "device": ("nvme0n1",),
    "engine": ENGINES,
    "extent": ("some", "full"),
    "filesystem": ("scratch",),
    "instance": ("MIG-1",),
    "interface": ("eth0",),
    "kind": tuple(NVLINK_TOTAL_FIELDS.values()),
    "limit": tuple(LIMIT_MARGIN_FIELDS),
    "link": ("3",),
    "mode": MODES,
    "module": ("dimm0",),
    "mount": ("/", "/data"),
    "node": ("0", "1"),
    "operation": ("read", "write", "other"),
    "package": ("0",),
    "port": ("1",),
    "probe": ("cpu", "nvidia"),
    "symbols": tuple(dict.fromkeys(FEC_FIELDS.values())),
    "reason": tuple(dict.fromkeys((*THROTTLE_BITS, *THROTTLE_FIELDS))),
    "resource": RESOURCES,
    "sensor": ("Tctl",),
    "target": ("loopback", "tokenizer:8000"),
    "what": ("other",),
    "window": ("1m", "5m", "15m"),
    "zone": ("package-0",),
}
RATES = {
    "bytes": 50e6, "seconds": 0.2, "joules": 400.0, "operations": 100.0, "packets": 1000.0, "segments": 1000.0,
    "switches": 5000.0, "faults": 10.0, "tasks": 3.0, "pages": 100.0, "connections": 1.0,
}  # fmt: skip
"""Growth of counters each second, by unit. Counters of errors and the like do not grow."""
LEVELS = {
    "bytes": 8 * GIB, "ratio": 0.2, "celsius": 60.0, "watts": 500.0, "hertz": 1.5e9, "bytes/s": 12.5e9,
    "seconds": 0.001, "flag": 0.0, "boolean": 0.0,
}  # fmt: skip
Value = Callable[[float, Sequence[str]], float]


def of_metrics() -> Iterator[Metric]:
    """Yield every metric that an agent can declare."""
    settings = AgentSettings()
    probes = [*linux_probes(settings), *build_accelerator_probes(settings), SelfProbe(SelfMetrics())]
    yield from dict.fromkeys(metric for probe in probes for metric in probe.metrics)


def uuid(host: str, index: int) -> str:
    """Return the UUID of a GPU."""
    return f"GPU-{host}-{index}"


def columns(host: str) -> tuple[Column, ...]:
    """Return a column for every metric of every resource of the host."""
    found = []
    for metric in of_metrics():
        others = [LABELS[label] for label in metric.labels if label not in {"gpu", "index"}]
        gpus = [(uuid(host, index), str(index)) for index in range(GPUS)] if "gpu" in metric.labels else [()]
        found += [Column(metric, (*gpu, *rest)) for gpu in gpus for rest in product(*others)]
    return tuple(found)


CALM = (
    "infiniband_received_errors_total", "infiniband_sent_discards_total", "memory_major_faults_total",
    "network_received_drops_total", "network_received_errors_total", "network_sent_drops_total",
    "network_sent_errors_total", "reclaim_background_pages_total", "reclaim_direct_pages_total", "swap_in_bytes_total",
    "swap_out_bytes_total", "swap_used_bytes", "tcp_failed_total", "tcp_reset_total",
    "tcp_retransmitted_segments_total",
)  # fmt: skip
"""Metrics that do not grow although others of their unit do."""
SLOW: dict[str, Value] = {
    **dict.fromkeys(CALM, lambda *_: 0.0),
    "agent_connected": lambda *_: 1,
    "cpu_busy_ratio": lambda *_: 0.98,
    "cpu_threads_online": lambda *_: 8,
    "disk_busy_seconds_total": lambda t, _: 0.3 * t,
    "filesystem_read_only": lambda *_: 0,
    "filesystem_total_bytes": lambda *_: 1000 * GIB,
    "filesystem_available_bytes": lambda *_: 700 * GIB,
    "gpu_ecc_enabled": lambda *_: 1,
    "gpu_memory_total_bytes": lambda *_: 80 * GIB,
    "gpu_memory_used_bytes": lambda *_: 61 * GIB,
    "gpu_nvlink_active_links": lambda *_: 18,
    "gpu_nvlink_links": lambda *_: 18,
    "gpu_power_limit_watts": lambda *_: 700,
    "gpu_power_watts": lambda t, _: 400 + 3 * (t % 7),
    "gpu_recovery_action": lambda *_: 0,
    "gpu_remapped_rows": lambda *_: 0,
    "gpu_retired_pages": lambda *_: 0,
    "gpu_slowdown_temperature_celsius": lambda *_: 92,
    "gpu_sm_active_ratio": lambda t, _: 0.5 if t % 10 < 4 else 0.03,
    "gpu_sm_clock_hertz": lambda *_: 1.9e9,
    "gpu_sm_clock_max_hertz": lambda *_: 1.98e9,
    "gpu_temperature_margin_celsius": lambda *_: 30,
    "gpu_throttle_seconds_total": lambda *_: 0,
    "gpu_utilization_ratio": lambda t, _: 0.9 if t % 10 < 4 else 0.05,
    "infiniband_state": lambda *_: 4,
    "memory_available_bytes": lambda *_: 90 * GIB,
    "memory_total_bytes": lambda *_: 128 * GIB,
    "memory_used_bytes": lambda *_: 38 * GIB,
    "memory_used_ratio": lambda *_: 38 / 128,
    "network_carrier": lambda *_: 1,
    "pressure_ratio": lambda _, labels: 0.6 if labels == ("cpu", "some") else 0.02,
    "pressure_seconds_total": lambda t, labels: (0.6 if labels == ("cpu", "some") else 0.02) * t,
    "tasks_runnable": lambda *_: 30,
}
"""A host with too few CPUs: its GPUs wait for six seconds in ten."""


def _first_gpu(ill: float, well: float) -> Value:
    return lambda _, labels: ill if labels[1] == "0" else well


def _heated(ill: float, well: float) -> Value:
    return lambda _, labels: ill if (labels[1], labels[2]) == ("0", "sw_thermal") else well


SICK: dict[str, Value] = {
    **SLOW,
    "filesystem_available_bytes": lambda t, labels: (60 - 0.5 * t if labels[0] == "/data" else 700) * GIB,
    "filesystem_used_ratio": lambda t, labels: 0.94 + 0.0005 * t if labels[0] == "/data" else 0.3,
    "gpu_nvlink_errors_total": lambda t, labels: t if labels[1] == "0" else 0,
    "gpu_sm_clock_hertz": _first_gpu(1.2e9, 1.9e9),
    "gpu_temperature_celsius": lambda t, labels: min(91.0, 70 + 0.5 * t) if labels[1] == "0" else 60,
    "gpu_temperature_margin_celsius": lambda t, labels: max(0.5, 22 - 0.5 * t) if labels[1] == "0" else 30,
    "gpu_throttle_active": _heated(1, 0),
    "gpu_throttle_seconds_total": lambda t, labels: _heated(t, 0)(t, labels),
    "gpu_xid_total": lambda t, labels: (t > 3) + (t > 20) if labels[1] == "1" else 0,
    "memory_available_bytes": lambda t, _: max(1.0, 32 - 0.15 * t) * GIB,
    "memory_used_bytes": lambda t, _: min(127.0, 96 + 0.15 * t) * GIB,
    "memory_used_ratio": lambda t, _: min(127.0, 96 + 0.15 * t) / 128,
}
"""A host with failures: memory and disk fill up, one GPU overheats, the other reports errors."""


def value(values: dict[str, Value], column: Column, seconds: float) -> float:
    """Return a reading at a time after the start."""
    metric = column.metric
    if metric.name in values:
        return values[metric.name](seconds, column.labels)
    if metric.kind is Kind.COUNTER:
        return RATES.get(metric.unit, 0.0) * seconds
    return LEVELS.get(metric.unit, 1.0)


class IllHost:
    """Sends a record each second while its context is open."""

    def __init__(
        self,
        port: int,
        host: str,
        ranks: Sequence[int],
        values: dict[str, Value],
        diverged: Callable[[], pb.StepReport] | None = None,
    ) -> None:
        """Create a host with some ranks of the common run. `diverged` returns what a second run reports each second."""
        self.host = host
        self._ranks, self._values, self._is_sick = ranks, values, values is SICK
        self._diverged = diverged
        self._agent = RawAgent(port, host)
        self._columns = columns(host)
        self._layout = Layout(self._columns)
        self._unavailable = unavailable_body(_unavailable(driver=self._is_sick))
        self._tenancy = self._tenancy_body()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f"ill host {host}")

    def __enter__(self) -> Self:
        self._agent.__enter__()
        self._agent.open()
        self._agent.send(pb.AgentMessage(inventory=self._inventory()))
        for kind, body in ((pb.Definition.UNAVAILABLE, self._unavailable), (pb.Definition.TENANCY, self._tenancy)):
            self._agent.send(pb.AgentMessage(definition=pb.Definition(kind=kind, digest=digest(body), body=body)))
        self._agent.send(pb.AgentMessage(definition=definition(self._layout)))
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._stop.set()
        self._thread.join()
        self._agent.__exit__(*details)

    def _live(self) -> None:
        began = time.monotonic()
        sequence = 0
        while not self._stop.wait(max(0.0, began + sequence - time.monotonic())):
            records = [self._record(sequence).SerializeToString()]
            self._agent.send(pb.AgentMessage(records=pb.Records(epoch=self._agent.epoch, records=records)))
            sequence += 1

    def _record(self, sequence: int) -> pb.Record:
        seconds = float(sequence)
        integers = [round(value(self._values, column, seconds) * column.metric.scale) for column in self._columns]
        values, validity = pack(integers, [1] * len(integers))
        return pb.Record(
            sequence=sequence,
            time_ns=time.time_ns(),
            boot_ns=time.clock_gettime_ns(time.CLOCK_BOOTTIME),
            layout=self._layout.digest,
            values=values,
            validity=validity,
            unavailable=digest(self._unavailable),
            tenancy=digest(self._tenancy),
            steps=[*(self._steps(rank, sequence) for rank in self._ranks), *self._others()],
            events=self._events(sequence),
            gpu_processes=[
                pb.GpuProcess(
                    gpu=uuid(self.host, index),
                    pid=1000 + rank,
                    memory_used_bytes=60 * GIB,
                    utilization_ratio=0.4,
                )
                for index, rank in enumerate(self._ranks)
            ],
        )

    def _steps(self, rank: int, sequence: int) -> pb.StepReport:
        """Report equally long steps, as collectives cause them. The slow rank works longest and waits least."""
        forward = 0.4 if rank == SLOW_RANK else 0.1
        return pb.StepReport(
            run=RUN,
            rank=rank,
            world_size=RANKS,
            pid=1000 + rank,
            step=2 * sequence + 2,
            steps=2,
            step_seconds=1.0,
            data_wait_seconds=0.4,
            tokens=8192,
            samples=4,
            loss=4.0 / (1 + sequence / 100),
            allocated_peak_bytes=50 * GIB,
            reserved_peak_bytes=58 * GIB,
            section_seconds={
                "data": 0.4,
                "forward": forward,
                "communication": 0.55 - forward,
                "optimizer": 0.04,
                "checkpoint": 0.01,
            },
        )

    def _others(self) -> list[pb.StepReport]:
        """Report a second run whose loss is NaN."""
        if self._diverged is None:
            return []
        bad = self._diverged()
        bad.loss = math.nan
        return [bad]

    def _events(self, sequence: int) -> list[pb.HostEvent]:
        if not self._is_sick or sequence not in {3, 20}:
            return []
        code = 63 if sequence == 3 else 79
        text = f"NVRM: Xid (PCI:0000:00): {code}"
        resource = uuid(self.host, 1)
        return [pb.HostEvent(kind="gpu_xid", time_ns=time.time_ns(), resource=resource, code=code, text=text)]

    def _tenancy_body(self) -> bytes:
        members = [
            pb.Member(
                pid=1000 + rank,
                started_ns=time.time_ns(),
                run=RUN,
                rank=rank,
                world_size=RANKS,
                user="ada",
                source="client",
                command="python train.py",
                gpus=[uuid(self.host, index)],
                labels={"total_steps": "100000", "flops_per_token": "4.2e10"},
            )
            for index, rank in enumerate(self._ranks)
        ]
        return pb.Tenancy(members=members).SerializeToString(deterministic=True)

    def _inventory(self) -> pb.Inventory:
        gpus = [
            pb.Gpu(
                uuid=uuid(self.host, index), index=index, vendor="nvidia", model="NVIDIA H100 80GB HBM3",
                memory_bytes=80 * GIB, driver_version="580.95.05", pci_address=f"0000:{index:02x}:00.0", nvlinks=18,
                power_limit_watts=700, slowdown_temperature_celsius=92,
            )
            for index in range(GPUS)
        ]  # fmt: skip
        return pb.Inventory(
            operating_system="Debian 12",
            kernel="6.1.0",
            architecture="x86_64",
            virtualization="kvm",
            cpu=pb.Cpu(model="EPYC", sockets=1, cores=8, threads=8),
            memory_bytes=128 * GIB,
            gpus=gpus,
            agent_version="0.1.0",
        )


def _unavailable(*, driver: bool) -> list[UnavailableReading]:
    """Return an unavailable reading for each reason, including one of the GPU driver on request."""
    reasons = [reason for reason in Reason if reason is not Reason.UNKNOWN]
    probes = ("infiniband", "cpu_energy", "temperature", "nvidia" if driver else "numa", "latency", "filesystem")
    return [
        UnavailableReading(probe, "", f"part {number}", reason, "made up", "none")
        for number, (probe, reason) in enumerate(zip(probes, reasons, strict=True))
    ]
