"""A simulated fleet behind a real server, for tests, screenshots and demonstrations."""

import asyncio
import contextlib
import gzip
import math
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.message import Message
from typing import Any

import msgspec
import numpy as np

from flyball_collector.captures.orders import CaptureOrders
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.exporter.renderings import Renderings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.http.application import build_application
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.server import READ_SECONDS, REQUEST_SECONDS, bind, serve
from flyball_collector.notify.notifier import Notifier
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings, HttpSettings
from flyball_collector.store.contract import Store
from flyball_collector.store.memory import MemoryStore
from flyball_collector.tick import KnownLayout, Tick
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.journal import Journal
from flyball_collector.timeline.timeline import Timeline
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND_NS = 10**9
GIB = 1024**3
GPU = ("gpu",)

HOST_METRICS = (
    gauge("cpu_busy_ratio", "ratio", "Share of CPU time that was not idle.", scale=10_000),
    gauge("memory_used_ratio", "ratio", "Share of RAM that is not available.", scale=10_000),
    gauge("memory_used_bytes", "bytes", "RAM that is not available."),
    gauge("memory_cached_bytes", "bytes", "Page cache."),
    gauge("memory_total_bytes", "bytes", "RAM that the kernel manages."),
)
DISK_METRICS = (
    counter("disk_read_bytes_total", "bytes", "Bytes read.", ("device",)),
    counter("disk_written_bytes_total", "bytes", "Bytes written.", ("device",)),
)
NETWORK_METRICS = (
    counter("network_received_bytes_total", "bytes", "Bytes received.", ("interface",)),
    counter("network_sent_bytes_total", "bytes", "Bytes sent.", ("interface",)),
)
PRESSURE = counter("pressure_seconds_total", "seconds", "Time in which tasks waited.", ("resource", "extent"), 1000)
GPU_METRICS = (
    gauge("gpu_utilization_ratio", "ratio", "Share of time in which a kernel ran.", GPU, 100),
    gauge("gpu_memory_used_bytes", "bytes", "Memory that processes hold.", GPU),
    gauge("gpu_memory_total_bytes", "bytes", "Memory of the device.", GPU),
    gauge("gpu_temperature_celsius", "celsius", "Core temperature.", GPU, 10),
    gauge("gpu_power_watts", "watts", "Power drawn by the board.", GPU, 1000),
    gauge("gpu_power_limit_watts", "watts", "Power limit in force.", GPU, 1000),
    gauge("gpu_sm_clock_hertz", "hertz", "Clock of the compute units.", GPU),
)


def machine_layout(gpus: Sequence[str]) -> KnownLayout:
    """Return the layout of a machine with these GPUs."""
    return KnownLayout(
        Layout(
            (
                *(Column(metric) for metric in HOST_METRICS),
                *(Column(metric, ("nvme0n1",)) for metric in DISK_METRICS),
                *(Column(metric, ("eth0",)) for metric in NETWORK_METRICS),
                *(Column(PRESSURE, (resource, "some")) for resource in ("cpu", "memory", "io")),
                *(Column(metric, (gpu,)) for gpu in gpus for metric in GPU_METRICS),
            )
        )
    )


class MachineDouble:
    """A host with plausible values, the same for the same second."""

    def __init__(self, name: str, gpus: int, *, seed: int = 0, epoch: bytes | None = None) -> None:
        self.name = name
        self.gpus = [f"GPU-{seed:04x}-{index:02d}" for index in range(gpus)]
        self.layout = machine_layout(self.gpus)
        self.epoch = epoch or (name.encode() + bytes(16))[:16]
        self._seed = seed

    def tick(self, sequence: int, time_ns: int, *, unknown: Sequence[str] = ()) -> Tick:
        """Return the record of one second. Metrics named in `unknown` have no value."""
        values = [round(v * c.metric.scale) for v, c in zip(self._values(sequence), self._columns, strict=True)]
        return Tick(
            host=self.name,
            epoch=self.epoch,
            sequence=sequence,
            layout=self.layout,
            values=np.array(values, np.int64),
            valid=np.array([column.metric.name not in unknown for column in self._columns]),
            agent_ns=time_ns,
            boot_ns=time_ns,
            corrected_ns=time_ns,
            received_ns=time_ns + 2_000_000,
            unavailable=0,
            tenancy=0,
            extras=b"",
            live=True,
        )

    @property
    def _columns(self) -> tuple[Column, ...]:
        return self.layout.layout.columns

    def _values(self, second: int) -> list[float]:
        wave = 0.5 + 0.5 * math.sin(second / 9 + self._seed * 1.7)
        small = 0.5 + 0.5 * math.sin(second / 2.3 + self._seed)
        used = 0.25 + 0.5 * ((self._seed * 37) % 100) / 100 + 0.05 * wave
        total = 512 * GIB
        host = [0.12 + 0.3 * wave + 0.05 * small, used, used * total, 0.15 * total, total]
        disk = [second * 9e8 + 4e8 * small, second * 2e8 + 1e8 * wave]
        network = [second * 1.1e9 + 2e9 * wave, second * 9e8 + 1e9 * small]
        pressure = [second * 0.02 + 0.05 * small, second * 0.001, second * 0.05 + 0.2 * wave]
        return [*host, *disk, *network, *pressure, *(v for i in range(len(self.gpus)) for v in self._gpu(second, i))]

    def _gpu(self, second: int, index: int) -> list[float]:
        wave = 0.5 + 0.5 * math.sin(second / 5 + self._seed + index * 0.35)
        busy = 0.1 if self._seed % 5 == 3 else 0.78 + 0.2 * wave
        return [
            busy,
            (0.62 + 0.03 * index) * 80 * GIB,
            80 * GIB,
            52 + 24 * busy + index,
            90 + 560 * busy,
            700,
            1.2e9 + 7e8 * busy,
        ]


def inventory_of(machine: MachineDouble) -> pb.Inventory:
    """Return the machine's inventory."""
    return pb.Inventory(
        operating_system="Debian GNU/Linux 12",
        kernel="6.1.0-18-amd64",
        architecture="x86_64",
        cpu=pb.Cpu(
            model="AMD EPYC 9554", sockets=2, cores=128, threads=256, max_hertz=3_750_000_000, features=["avx512f"]
        ),
        memory_bytes=512 * GIB,
        power_source="mains",
        disks=[pb.Disk(device="nvme0n1", model="KIOXIA CM7", kind="nvme", bytes=3840 * 10**9, mounts=["/", "/data"])],
        networks=[
            pb.NetworkInterface(device="eth0", kind="ethernet", driver="mlx5_core", speed_bits_per_second=10**11)
        ],
        gpus=[
            pb.Gpu(
                uuid=uuid,
                index=index,
                vendor="nvidia",
                model="NVIDIA H100 80GB HBM3",
                memory_bytes=80 * GIB,
                driver_version="550.54.15",
                precisions=["fp16", "bf16", "fp8", "int8"],
                slowdown_temperature_celsius=87,
            )
            for index, uuid in enumerate(machine.gpus)
        ],
    )


def denied() -> UnavailableReading:
    """Return an unavailable reading for a missing permission."""
    detail = "energy counters are readable only by root"
    remedy = "give the agent CAP_DAC_READ_SEARCH, or chmod the energy_uj files"
    return UnavailableReading("rapl", "", "", Reason.DENIED, detail, remedy)


def make_parts(
    store: Store | None = None, *, fleet: Fleet | None = None, clock: Callable[[], int] | None = None
) -> CollectorParts:
    """Return the parts of a fleet in memory. The kernel chooses the HTTP port."""
    fleet = Fleet() if fleet is None else fleet  # an empty fleet is falsy
    clock, own = clock or WallClock(), OwnMetrics()
    store = store or MemoryStore(clock=clock)
    settings = CollectorSettings(http=HttpSettings(listen="127.0.0.1:0"))
    journal, active = Journal(store, own), ActiveEntries()
    return CollectorParts(
        settings=settings,
        fleet=fleet,
        store=store,
        timeline=Timeline(store, journal, active),
        notifier=Notifier(settings.notify, journal, active, store, own, clock),
        diagnosis=Diagnosis(fleet, settings.diagnosis),
        captures=CaptureOrders(store, settings.captures, own, clock, time.monotonic),
        clock=clock,
        renderings=Renderings(fleet, own, clock=clock),
        own_metrics=own,
    )


class WallClock:
    """A wall clock that only the test moves."""

    def __init__(self, now_ns: int = 1_893_456_000 * SECOND_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


@contextlib.asynccontextmanager
async def serving(
    parts: CollectorParts, *, request_seconds: float = REQUEST_SECONDS, read_seconds: float = READ_SECONDS
) -> AsyncIterator[str]:
    """Run the real server on a port that the kernel chooses. Yield its address."""
    listener = bind(parts.settings.http, parts.own_metrics)
    host, port = listener.getsockname()[:2]
    settings = replace_listen(parts, f"{host}:{port}")
    stop = asyncio.Event()
    application = build_application(settings)
    async with asyncio.TaskGroup() as tasks:
        ready = asyncio.Event()
        tasks.create_task(
            serve(
                application,
                settings.settings.http,
                stop,
                listener=listener,
                started=ready.set,
                metrics=parts.own_metrics,
                request_seconds=request_seconds,
                read_seconds=read_seconds,
            )
        )
        await ready.wait()
        try:
            yield f"{'https' if parts.settings.http.certificate_file else 'http'}://{host}:{port}"
        finally:
            stop.set()


def replace_listen(parts: CollectorParts, listen: str) -> CollectorParts:
    """Return the parts with another address."""
    http = msgspec.structs.replace(parts.settings.http, listen=listen)
    return replace(parts, settings=msgspec.structs.replace(parts.settings, http=http))


@dataclass(frozen=True, slots=True)
class FetchedAnswer:
    """An HTTP answer."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        """Return the body, decompressed and decoded."""
        return msgspec.json.decode(
            gzip.decompress(self.body) if self.headers["content-encoding"] == "gzip" else self.body
        )


async def fetch(
    url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> FetchedAnswer:
    """Send a request without blocking the event loop, on which the server runs as well."""
    return await asyncio.to_thread(_fetch, urllib.request.Request(url, body, dict(headers or {}), method=method))  # noqa: S310


def _fetch(request: urllib.request.Request) -> FetchedAnswer:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            return FetchedAnswer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return FetchedAnswer(error.code, error.headers, error.read())
