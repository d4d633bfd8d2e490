"""A generated fleet: N hosts with 8 GPUs each, every one with a connection of its own, sending over real gRPC and mTLS.

Cheap, so that the collector is what is measured: a record's bytes are made once and patched in place.
Prints one line of JSON with what was sent, what was acknowledged, and the CPU that this process took.
"""

import argparse
import asyncio
import json
import random
import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import numpy as np
from grpc import aio
from numpy.typing import NDArray

from flyball_agent.uplink.channel import OPTIONS
from flyball_agent.uplink.uplink import STEADY_SECONDS, backoff_seconds
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.layout import Layout
from flyball_proto.metric import Kind
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.fleet_readings import GPUS, deviation, loaded_columns, wavers

_SECOND_NS = 1_000_000_000
_CONNECT = "/flyball.v1.Telemetry/Connect"
_BLOCK_OF_SEQUENCES = 1 << 21  # sequences of a run begin here, so that their varint keeps its length
_TIME = struct.Struct("<qq")
_STEP = re.compile(rb"\x28" + re.escape(bytes((0x80, 0x80, 0x80, 0x01))))  # a report's step, as records begin
_ROWS = 251
_TROUBLED, _TROUBLE = 20, 1.8  # of so many hosts one has so many times the usual load
_LONGEST_BACKOFF_SECONDS = 10.0  # the default of agents


@dataclass(frozen=True, slots=True)
class Load:
    """The fleet to generate."""

    target: str
    hosts: int
    seconds: float
    interval_ms: int
    send_every_ms: int
    storms: int
    first_host: int = 0
    ca_file: Path | None = None
    certificates: Path | None = None  # holds agents/HOST.crt and agents/HOST.key; one for all hosts is ALL.crt
    ramp_seconds: float = 5.0
    ranks: int = 0


@dataclass(slots=True)
class Tally:
    """The result of a load."""

    sampled_records: int = 0
    sent_messages: int = 0
    welcomes: int = 0
    acknowledgements: int = 0
    acknowledged_records: int = 0
    grants: int = 0
    rewinds: int = 0
    reconnects: int = 0
    waiting: int = 0  # records that wait to be replayed when it ends
    errors: dict[str, int] = field(default_factory=dict)

    def failed(self, error: Exception) -> None:
        """Count one more of its kind."""
        name = f"{error.code()} {error.details()}"[:200] if isinstance(error, aio.AioRpcError) else repr(error)
        self.errors[name] = self.errors.get(name, 0) + 1


def host_layout(host: int) -> Layout:
    """171 columns: 43 of the host, 16 of each GPU."""
    return Layout(tuple(column for column, _ in loaded_columns(host)))


@dataclass(frozen=True, slots=True)
class Course:
    """A table of readings that all hosts replay in a loop, each from its own row."""

    first: NDArray[np.int64]  # values of gauges in each row; of counters 0
    steps: NDArray[np.int64]  # from each row to the next
    counting: NDArray[np.bool_]  # counters that grow: who counts errors has none


def course(factor: float, seed: int) -> Course:
    """Half of the readings that waver move each second: gauges by noise around their level, counters unevenly."""
    noise = np.random.default_rng(seed)
    columns, usual = zip(*loaded_columns(0), strict=True)
    counters = np.array([column.metric.kind is Kind.COUNTER for column in columns])
    waver = np.array([wavers(column) for column in columns])
    most = np.array([1.0 if column.metric.name.endswith("_ratio") else np.inf for column in columns])
    scales = np.array([column.metric.scale for column in columns])
    spread = np.array([deviation(column) for column in columns])
    levels = np.array(usual) * np.where(waver, factor, 1.0)
    shape = (_ROWS, len(columns))
    moved = noise.random(shape) < 0.5
    grown = np.where(moved, levels * noise.uniform(0.5, 1.5, shape), 0)
    there = np.minimum(levels * np.where(waver & moved, noise.normal(1, spread, shape), 1), most)
    gauges = (there * scales).astype(np.int64)
    steps = np.where(counters, (grown * scales).astype(np.int64), np.diff(gauges, axis=0, append=gauges[:1]))
    return Course(np.where(counters, 0, gauges), steps, counters & (levels > 0))


class Recorder:
    """Makes the records of one host by patching the bytes of one."""

    def __init__(self, host: int, layout: Layout, course: Course, ranks: int) -> None:
        noise = random.Random(host)
        count = len(layout.columns)
        self._course = course
        self._row = noise.randrange(_ROWS)
        record = pb.Record(
            sequence=_BLOCK_OF_SEQUENCES, time_ns=1, boot_ns=1, layout=layout.digest, values=bytes(8 * count)
        )
        for index in range(GPUS):
            record.gpu_processes.add(gpu=f"GPU-{host:08x}-{index:04x}", pid=1000 + index, memory_used_bytes=1 << 34)
        record.steps.extend(_reports(host, ranks))
        self._bytes = bytearray(record.SerializeToString())
        values_at = bytes(self._bytes).index(bytes(8 * count))
        self._times_at = bytes(self._bytes).index(b"\x11" + _TIME.pack(1, 1)[:8]) + 1
        self._steps_at = [found.end() for found in _STEP.finditer(self._bytes, values_at + 8 * count)]
        self._values = np.frombuffer(self._bytes, np.dtype("<i8"), count, values_at)
        begun = [noise.randrange(1 << 40) for _ in range(count)]
        self._values[:] = np.where(course.counting, begun, course.first[self._row])

    def record(self, sequence: int, time_ns: int, boot_ns: int) -> bytes:
        """The next record."""
        patched, number = self._bytes, _varint4(_BLOCK_OF_SEQUENCES + sequence)
        patched[1:5] = number
        struct.pack_into("<q", patched, self._times_at, time_ns)
        struct.pack_into("<q", patched, self._times_at + 9, boot_ns)
        for at in self._steps_at:
            patched[at - 4 : at] = number
        made = bytes(patched)
        self._values += self._course.steps[self._row]
        self._row = (self._row + 1) % _ROWS
        return made


def _reports(host: int, ranks: int) -> Iterator[pb.StepReport]:
    """Of the ranks on a host: one step a second; sixteen hosts train together."""
    for rank in range(ranks):
        yield pb.StepReport(
            run=f"run-{host // 16}", rank=host % 16 * ranks + rank, world_size=16 * ranks, pid=1000 + rank,
            step=_BLOCK_OF_SEQUENCES, steps=1, step_seconds=0.97, data_wait_seconds=0.02, samples=64,
            section_seconds={"data": 0.02, "forward": 0.3, "backward": 0.55, "optimizer": 0.1},
        )  # fmt: skip


def _varint4(number: int) -> bytes:
    return bytes((number & 127 | 128, number >> 7 & 127 | 128, number >> 14 & 127 | 128, number >> 21))


class Host:
    """One generated agent: sends live, keeps what is not acknowledged, replays under grants."""

    def __init__(self, load: Load, number: int, tally: Tally, course: Course) -> None:
        self._load = load
        self._tally = tally
        self.name = f"load{number:05d}"
        self._layout = host_layout(number)
        self._recorder = Recorder(number, self._layout, course, load.ranks)
        noise = random.Random(number)
        self._first = noise.randrange(60_000 // load.interval_ms if load.interval_ms < 60_000 else 1)
        self._epoch = pb.Epoch(
            id=noise.randbytes(16), started_ns=time.time_ns(), boot_id=f"boot{number}", interval_ms=load.interval_ms
        )
        self._phase = noise.random()
        self._next = self._first
        self._sampled_ns = 0  # the newest instant
        self._kept: dict[int, bytes] = {}
        self._echo: pb.Echo | None = None
        self._credit = 0
        self._backlog: list[int] = []

    @property
    def waiting(self) -> int:
        """Records that wait for a grant."""
        return len(self._backlog)

    async def run(self, channel: aio.Channel, until: float) -> None:
        """One stream until a moment."""
        self._catch_up()
        call = channel.stream_stream(_CONNECT, pb.AgentMessage.SerializeToString, pb.CollectorMessage.FromString)()  # type: ignore[call-arg]  # requests are written
        await call.write(pb.AgentMessage(hello=self._hello(), sent_boot_ns=time.monotonic_ns()))
        await call.write(
            pb.AgentMessage(
                definition=pb.Definition(kind=pb.Definition.LAYOUT, digest=self._layout.digest, body=self._layout.body)
            )
        )
        self._backlog = sorted(self._kept)
        reader = asyncio.create_task(self._listen(call))
        try:
            await self._send(call, until)
        finally:
            reader.cancel()
            call.cancel()

    async def _send(self, call: "aio.StreamStreamCall[pb.AgentMessage, pb.CollectorMessage]", until: float) -> None:
        """As agents do: sampled at full intervals of the wall clock, sent at the host's own phase after it."""
        every = self._load.send_every_ms * 1_000_000
        wall_minus_boot = time.time_ns() - time.monotonic_ns()
        sampled = self._sampled_ns + every if self._sampled_ns else time.time_ns() // every * every
        phase = round(every * self._phase)
        while (due := (sampled + phase - wall_minus_boot) / _SECOND_NS) < until:
            await asyncio.sleep(due - time.monotonic())
            batch = self._sample(sampled, wall_minus_boot)
            message = pb.AgentMessage(
                records=pb.Records(epoch=self._epoch.id, records=batch, backlog_bytes=1500 * len(self._backlog)),
                sent_boot_ns=time.monotonic_ns(),
                echo=self._echo,
            )
            self._echo = None
            await call.write(message)
            self._tally.sent_messages += 1
            while self._backlog and self._credit > 0:
                await call.write(self._replay())
            sampled += every

    def _catch_up(self) -> None:
        """Nobody took what was sampled since the stream broke off: it waits to be replayed."""
        every = self._load.send_every_ms * 1_000_000
        now_ns = time.time_ns()
        for sampled in range(self._sampled_ns + every, now_ns // every * every, every) if self._sampled_ns else ():
            self._sample(sampled, now_ns - time.monotonic_ns())

    def _sample(self, sampled_ns: int, wall_minus_boot_ns: int) -> list[bytes]:
        """The records of the sending interval that ends then."""
        step = self._load.interval_ms * 1_000_000
        count = max(1, self._load.send_every_ms // self._load.interval_ms)
        batch = []
        for time_ns in range(sampled_ns - (count - 1) * step, sampled_ns + 1, step):
            record = self._recorder.record(self._next, time_ns, time_ns - wall_minus_boot_ns)
            self._kept[self._next] = record
            self._next += 1
            batch.append(record)
        self._tally.sampled_records += count
        self._sampled_ns = sampled_ns
        return batch

    def _replay(self) -> pb.AgentMessage:
        batch, size = [], 0
        while self._backlog and size < 200_000:
            record = self._kept.get(self._backlog.pop(0))
            if record is not None:
                batch.append(record)
                size += len(record)
        self._credit -= size
        records = pb.Records(epoch=self._epoch.id, records=batch, replay=True, backlog_bytes=1500 * len(self._backlog))
        return pb.AgentMessage(records=records, sent_boot_ns=time.monotonic_ns())

    async def _listen(self, call: "aio.StreamStreamCall[pb.AgentMessage, pb.CollectorMessage]") -> None:
        while isinstance(message := await call.read(), pb.CollectorMessage):
            self._echo = pb.Echo(collector_sent_ns=message.sent_ns, agent_received_boot_ns=time.monotonic_ns())
            kind = message.WhichOneof("kind")
            if kind == "welcome":
                self._tally.welcomes += 1
                for durable in message.welcome.durable:
                    self._settled(durable.settled)
            elif kind == "acknowledgement":
                self._tally.acknowledgements += 1
                self._settled(message.acknowledgement.settled)
            elif kind == "replay_grant":
                self._tally.grants += 1
                self._credit += message.replay_grant.bytes
            elif kind == "rewind":
                self._tally.rewinds += 1
                lowest = int(getattr(message.rewind, "from")) - _BLOCK_OF_SEQUENCES
                self._backlog = sorted({*self._backlog, *(n for n in self._kept if n >= lowest)})

    def _settled(self, settled: int) -> None:
        while self._kept and (oldest := next(iter(self._kept))) + _BLOCK_OF_SEQUENCES < settled:
            del self._kept[oldest]
            self._tally.acknowledged_records += 1

    def _hello(self) -> pb.Hello:
        first = next(iter(self._kept), self._next) + _BLOCK_OF_SEQUENCES
        spooled = pb.SpooledEpoch(epoch=self._epoch, first=first, next=self._next + _BLOCK_OF_SEQUENCES)
        return pb.Hello(host=self.name, agent_version="load", protocol=PROTOCOL_VERSION, epochs=[spooled])


def credentials(load: Load, host: str) -> grpc.ChannelCredentials | None:
    """The host's own certificate."""
    if load.ca_file is None or load.certificates is None:
        return None
    folder = load.certificates
    return grpc.ssl_channel_credentials(
        load.ca_file.read_bytes(), (folder / f"{host}.key").read_bytes(), (folder / f"{host}.crt").read_bytes()
    )


def open_channel(load: Load, host: str) -> aio.Channel:
    """A connection of its own, as each agent has."""
    secret = credentials(load, host)
    if secret is None:
        return aio.insecure_channel(load.target, options=OPTIONS)
    return aio.secure_channel(load.target, secret, options=OPTIONS)


async def live(load: Load, host: Host, number: int, tally: Tally, storms: list[float], end: float) -> None:
    """One host through all storms: at each, the stream is broken off and opened again, as agents do."""
    await asyncio.sleep(load.ramp_seconds * (number - load.first_host) / max(1, load.hosts))
    for until in (*storms, end):
        attempt = 0
        while (started := time.monotonic()) < until - 0.1:
            if await broken_off(load, host, tally, until):
                attempt = 0 if time.monotonic() - started >= STEADY_SECONDS else attempt + 1
                await asyncio.sleep(backoff_seconds(attempt, _LONGEST_BACKOFF_SECONDS, random.random()))
    tally.waiting += host.waiting


async def broken_off(load: Load, host: Host, tally: Tally, until: float) -> bool:
    """A stream on a channel of its own, which has no back-off from the one before; whether it ended early."""
    channel = open_channel(load, host.name)
    try:
        await host.run(channel, until)
    except (aio.AioRpcError, asyncio.InvalidStateError) as error:
        tally.failed(error)
        tally.reconnects += 1
        return True
    finally:
        await channel.close(None)
    return False


async def generate(load: Load) -> dict[str, object]:
    """Run the fleet and return its result for JSON."""
    tally = Tally()
    usual, troubled = course(1.0, seed=1), course(_TROUBLE, seed=2)
    begun = time.monotonic()
    end = begun + load.seconds
    storms = [begun + load.seconds * (n + 1) / (load.storms + 1) for n in range(load.storms)]
    async with asyncio.TaskGroup() as group:
        for number in range(load.first_host, load.first_host + load.hosts):
            host = Host(load, number, tally, usual if number % _TROUBLED else troubled)
            group.create_task(live(load, host, number, tally, storms, end))
    return {
        "hosts": load.hosts,
        "seconds": round(time.monotonic() - begun, 1),
        "columns": len(host_layout(0).columns),
        "cpu_seconds": round(time.process_time(), 2),
        **{name: getattr(tally, name) for name in Tally.__slots__ if name != "errors"},
        "errors": tally.errors,
    }


def parse() -> Load:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="host:port of the collector")
    parser.add_argument("--hosts", type=int, default=512)
    parser.add_argument("--first-host", type=int, default=0, help="number of the first host; to share a fleet")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--interval-ms", type=int, default=1000)
    parser.add_argument("--send-every-ms", type=int, default=1000)
    parser.add_argument("--storms", type=int, default=0, help="how often all hosts break off and reconnect")
    parser.add_argument("--ramp-seconds", type=float, default=5)
    parser.add_argument("--ranks", type=int, default=0, help="that train on each host and report their steps")
    parser.add_argument("--ca-file", type=Path)
    parser.add_argument("--certificates", type=Path, help="folder of HOST.crt and HOST.key")
    return Load(**vars(parser.parse_args()))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(generate(parse()))))
