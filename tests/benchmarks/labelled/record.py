"""Record the agent's probes and a training's step reports into files of the spool's format."""

import asyncio
import gzip
import threading
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from flyball_agent.clock import KernelClock
from flyball_agent.host import build_probes, new_epoch
from flyball_agent.probes.latency import LatencyProbe
from flyball_agent.record import Extras, TickRecord
from flyball_agent.runner import Runner
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.socket import RunSocket
from flyball_agent.runs.tenancy import TenancyReader
from flyball_agent.runs.tenancy_probe import TenancyProbe
from flyball_agent.runs.training_members import name_members
from flyball_agent.sampler import Sampler
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings, ProbeSettings
from flyball_agent.spool.format import (
    HEADER,
    EntryKind,
    SpoolEntry,
    decode_definition,
    decode_epoch,
    decode_record,
    encode_definition,
    encode_epoch,
    encode_record,
    entries_start,
    scan,
)
from flyball_collector.engine.player import Recording
from flyball_collector.ingest.record_reader import RecordReader
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Layout
from flyball_proto.v1 import telemetry_pb2 as pb

T = TypeVar("T")

HOST = "bench"
STOP_SECONDS = 2.0
HOLD_SECONDS = 2.5
"""How long the collector keeps a live host's newest reading."""


class Listener:
    """The agent without its spool, uplink and socket: sampler and probes, one record a second."""

    def __init__(self, settings: AgentSettings, book: RunRegistry, accounts: SelfMetrics) -> None:
        clock = KernelClock()
        self._book = book
        found = build_probes(settings)
        self._latency = [probe for probe in found.all if isinstance(probe, LatencyProbe)]
        self._tenancy = TenancyProbe(TenancyReader(Path(settings.proc_root)), found.accelerators, book)
        name_members(found.all, self._tenancy, found.accelerators)
        self.epoch = new_epoch(settings, clock)
        runner = Runner([*found.all, self._tenancy, SelfProbe(accounts)], settings.probes.time_limit_seconds)
        self._sampler = Sampler(
            epoch=self.epoch,
            runner=runner,
            extras=self._extras,
            sinks=(self._keep,),
            clock=clock,
            self_metrics=accounts,
        )
        self._lock = threading.Lock()
        self._ticks: list[TickRecord] | None = None

    def start(self) -> None:
        """Read from now on."""
        self._sampler.start()

    def stop(self) -> None:
        """Read no more."""
        self._sampler.stop(STOP_SECONDS)
        for probe in self._latency:
            probe.close()

    def begin(self) -> None:
        """Keep records from now on."""
        with self._lock:
            self._ticks = []

    def end(self, path: Path) -> None:
        """Write what was kept."""
        with self._lock:
            ticks, self._ticks = self._ticks or [], None
        path.write_bytes(encode(encode_epoch(self.epoch), ticks))

    def _keep(self, tick: TickRecord) -> None:
        with self._lock:
            if self._ticks is not None:
                self._ticks.append(tick)

    def _extras(self, _wall_ns: int) -> Extras:
        return Extras(steps=self._book.take_reports(), tenancy=self._tenancy.body)


class Recorder:
    """Two agents: one that trainings report to, and one that knows of none, as on a host where nobody reports."""

    def __init__(self, socket_path: Path, latency_target: str) -> None:
        probes = ProbeSettings(latency_targets=(latency_target,))
        settings = AgentSettings(host=HOST, socket_path=str(socket_path), probes=probes)
        self._book, self._accounts, self._socket_path = RunRegistry(), SelfMetrics(), socket_path
        self._with_reports = Listener(settings, self._book, self._accounts)
        self._without = Listener(settings, RunRegistry(), SelfMetrics())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="run-socket", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._await(self._open())
        for listener in (self._with_reports, self._without):
            listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        for listener in (self._with_reports, self._without):
            listener.stop()
        self._await(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS)
        self._loop.close()

    def begin(self) -> None:
        """Keep records from now on."""
        for listener in (self._with_reports, self._without):
            listener.begin()

    def end(self, path: Path) -> None:
        """Write what was kept, of both agents."""
        self._with_reports.end(path)
        self._without.end(without_reports(path))

    async def _open(self) -> RunSocket:
        server = RunSocket(self._socket_path, self._book, self._accounts)
        await server.start()
        return server

    async def _close(self) -> None:
        await self._server.stop()

    def _await(self, coroutine: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(STOP_SECONDS)


def without_reports(path: Path) -> Path:
    """Return the file in which the agent that knows of no run recorded the same episode."""
    name, dot, rest = path.name.partition(".spool")
    return path.with_name(f"{name}.none{dot}{rest}")


def encode(epoch: bytes, ticks: list[TickRecord]) -> bytes:
    """A spool file: each definition before the first record that needs it."""
    parts, defined = [HEADER, epoch], set[int]()
    for tick in ticks:
        for definition in tick.definitions:
            if definition.digest not in defined:
                defined.add(definition.digest)
                parts.append(encode_definition(definition))
        parts.append(encode_record(tick))
    return b"".join(parts)


def read(path: Path) -> Recording:
    """A recorded file as ticks for the player; the collector's own door reads the records."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    layouts: dict[int, KnownLayout] = {}
    door, epoch, ticks = RecordReader(HOST, layouts), b"", []
    for entry in scan(data, entries_start(data)):
        if not isinstance(entry, SpoolEntry):
            raise ValueError(f"{path}: damaged at byte {entry.start}")
        if entry.kind == EntryKind.EPOCH and (found := decode_epoch(entry.body)) is not None:
            epoch = found.id
        definition = decode_definition(entry.body) if entry.kind == EntryKind.DEFINITION else None
        if definition is not None and definition.kind == pb.Definition.LAYOUT:
            layouts[definition.digest] = KnownLayout(Layout.parse(definition.body))
        if entry.kind == EntryKind.RECORD and (record := decode_record(entry.body)) is not None:
            tick = door.read(record.record, epoch, 0)
            tick.corrected_ns = tick.received_ns = tick.agent_ns
            tick.live = True
            ticks.append(tick)
    return Recording(ticks, hold_seconds=HOLD_SECONDS)


def anonymous(path: Path) -> bytes:
    """A recorded file, packed, without the names of processes, users and machine: fit to be kept in a repository."""
    data = path.read_bytes()
    kept = [HEADER]
    for entry in scan(data, entries_start(data)):
        assert isinstance(entry, SpoolEntry)
        if (epoch := decode_epoch(entry.body) if entry.kind == EntryKind.EPOCH else None) is not None:
            kept.append(encode_epoch(replace(epoch, boot_id="")))
        definition = decode_definition(entry.body) if entry.kind == EntryKind.DEFINITION else None
        if definition is not None and definition.kind != pb.Definition.TENANCY:
            kept.append(encode_definition(definition))
        if (spooled := decode_record(entry.body) if entry.kind == EntryKind.RECORD else None) is not None:
            record = pb.Record.FromString(spooled.record)
            record.tenancy = 0
            kept.append(encode_record(TickRecord(spooled.sequence, record.SerializeToString(deterministic=True), ())))
    return gzip.compress(b"".join(kept), mtime=0)
