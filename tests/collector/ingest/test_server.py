"""The ingest server over real gRPC: what agents send and receive, and what is in the store."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2

from flyball_collector.blocks.codec import decode
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.settings import CollectorSettings, GrpcSettings, LimitSettings, StoreSettings
from flyball_collector.store.contract import Store
from flyball_collector.testing import (
    CONNECT,
    START_NS,
    AgentDouble,
    FlakyStore,
    make_definition,
    make_epoch,
    make_hello,
    make_layout,
    make_record,
    running_ingest,
)
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = make_layout()
EPOCH = make_epoch()
LOOPBACK = GrpcSettings(listen="127.0.0.1:0")


@pytest.fixture
def store() -> Iterator[FlakyStore]:
    flaky = FlakyStore()
    yield flaky
    flaky.open.set()
    flaky.close()


def records(first: int, following: int) -> list[bytes]:
    return [make_record(sequence, LAYOUT) for sequence in range(first, following)]


def stored(store: Store, host: str = "host1", epoch: bytes = EPOCH.id) -> list[int]:
    """Return every stored sequence, with repetitions."""
    return [
        int(sequence)
        for block in store.read_blocks(host, 0, 1 << 62)
        if block.key.epoch == epoch
        for group in decode(block.payload)
        for sequence in group.sequences
    ]


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.01)


async def test_a_minute_is_stored_once_and_acknowledged(store: FlakyStore) -> None:
    """A full block is stored and shown, and only then acknowledged up to its end."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        welcome = await agent.greet(layout=LAYOUT)
        assert [(a.epoch, a.settled) for a in welcome.durable] == [(EPOCH.id, 0)]
        await agent.send(EPOCH.id, records(0, 61))
        assert (await agent.acknowledged(60)).settled == 60
        assert stored(store) == list(range(60))
        state = running.fleet.get("host1")
        assert state is not None
        assert (state.connected, state.sequence, state.agent_version) == (True, 60, "1.2.3")
        assert [value for _, value in running.fleet.readings(state)] == [60.0, 60.0, 60.0]
        assert store.get_document("layout", f"{LAYOUT.digest:016x}") is not None
        await agent.close()


async def test_repeated_and_reordered_records_are_stored_once(store: FlakyStore) -> None:
    """Each is stored once, in order."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        for batch in (records(30, 60), records(10, 40), records(0, 20), records(0, 60)):
            await agent.send(EPOCH.id, batch)
        await agent.acknowledged(60)
        assert stored(store) == list(range(60))
        await until(lambda: running.server.counts.duplicate_records == 80)
        await agent.close()


async def test_an_open_block_is_written_when_its_stream_ends(store: FlakyStore) -> None:
    """The last part of a minute is durable although its stream was gone; the next welcome acknowledges it."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(0, 25))
        await until(lambda: running.server.counts.records == 25)
        await agent.close()
        await until(lambda: stored(store) == list(range(25)))
        again = await AgentDouble.connect(running.port)
        welcome = await again.greet(pb.SpooledEpoch(epoch=EPOCH, first=0, next=30), layout=LAYOUT)
        assert welcome.durable[0].settled == 25
        await again.send(EPOCH.id, records(25, 60))
        await again.acknowledged(60)
        assert stored(store) == list(range(60))
        await again.close()


async def test_open_blocks_are_written_when_the_collector_stops(store: FlakyStore) -> None:
    """A graceful stop ends streams with UNAVAILABLE and leaves nothing unwritten; a new collector continues from it."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(0, 7))
        await until(lambda: running.server.counts.records == 7)
        ending = asyncio.create_task(agent.ended())
    code, _ = await ending
    assert code is grpc.StatusCode.UNAVAILABLE
    assert stored(store) == list(range(7))
    await agent.close()
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        welcome = await agent.greet(pb.SpooledEpoch(epoch=EPOCH, first=0, next=9))
        assert welcome.durable[0].settled == 7
        await agent.close()


async def test_a_host_that_stops_reporting_has_its_block_written(store: FlakyStore) -> None:
    """Ten seconds (here: less) without a record are enough."""
    settings = CollectorSettings(grpc=LOOPBACK, not_reporting_after_seconds=0.5, send_every_seconds=0.1)
    async with running_ingest(store, settings) as running:
        agent = await AgentDouble.connect(running.port)
        epoch = make_epoch(interval_ms=100)
        await agent.greet(pb.SpooledEpoch(epoch=epoch), layout=LAYOUT)
        await agent.send(epoch.id, records(0, 5))
        await until(lambda: stored(store) == list(range(5)))
        assert running.fleet.hosts()[0].connected
        await agent.close()


async def test_lost_sequences_settle(store: FlakyStore) -> None:
    """Sequences that an agent declares lost are stored as lost and acknowledged with the rest."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(50, 130))
        await agent.write(pb.AgentMessage(lost=pb.Lost(epoch=EPOCH.id, ranges=[pb.Range(first=0, next=50)])))
        await agent.acknowledged(120)
        [first, _] = store.read_blocks("host1", 0, 1 << 62)
        assert first.lost == RangeSet([(0, 50)])
        assert running.server.counts.lost_records == 50
        await agent.close()


async def test_a_malformed_record_is_refused_and_the_rest_settles(store: FlakyStore) -> None:
    """A record of the wrong size is refused with a reason, sampled and counted; its neighbours are stored."""
    wrong = make_record(7, make_layout(4), digest=LAYOUT.digest)
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, [*records(0, 7), wrong, b"\xff\xff", *records(8, 60)])
        refused = (await agent.receive("refused")).refused
        assert [(part.first, part.next) for part in refused.ranges] == [(7, 8)]
        assert refused.reason == "values"
        await agent.acknowledged(60)
        assert stored(store) == [n for n in range(60) if n != 7]
        assert running.server.counts.refused_records == {"values": 1, "unreadable": 1}
        await until(lambda: len(store.list_documents("quarantine")) == 2)
        await agent.close()


async def test_the_end_of_an_ended_epoch_settles(store: FlakyStore) -> None:
    """The last, partial block of an ended epoch is acknowledged when it is complete."""
    old, new = make_epoch(1), make_epoch(2)
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        spooled = pb.SpooledEpoch(epoch=old, first=0, next=70, ended=True)
        await agent.greet(spooled, pb.SpooledEpoch(epoch=new), layout=LAYOUT)
        await agent.send(new.id, records(0, 1), backlog_bytes=5000)
        grant = await agent.receive("replay_grant")
        assert grant.replay_grant.bytes > 100_000
        await agent.send(old.id, records(0, 70), replay=True)
        acknowledged = await agent.acknowledged(70)
        assert acknowledged.epoch == old.id
        state = running.fleet.get("host1")
        assert state is not None
        assert state.epoch == new.id
        assert state.sequence == 0
        await agent.close()


async def test_the_newest_stream_supersedes_the_older(store: FlakyStore) -> None:
    """A second stream of a host ends the first with ABORTED and continues."""
    async with running_ingest(store) as running:
        first = await AgentDouble.connect(running.port)
        await first.greet(layout=LAYOUT)
        await first.send(EPOCH.id, records(0, 10))
        await until(lambda: running.server.counts.records == 10)
        second = await AgentDouble.connect(running.port)
        await second.greet(layout=LAYOUT)
        code, message = await first.ended()
        assert code is grpc.StatusCode.ABORTED
        assert "superseded" in message
        await second.send(EPOCH.id, records(0, 60))
        await second.acknowledged(60)
        assert stored(store) == list(range(60))
        state = running.fleet.get("host1")
        assert state is not None
        assert state.connected
        assert not state.duplicate
        await first.close()
        await second.close()


async def test_two_machines_of_one_name_are_detected(store: FlakyStore) -> None:
    """An old epoch that becomes current again belongs to another machine: the host is marked as a duplicate."""
    one, other = pb.SpooledEpoch(epoch=make_epoch(1)), pb.SpooledEpoch(epoch=make_epoch(2, boot_id="boot-2"))
    async with running_ingest(store) as running:
        agents = []
        for epoch in (one, other, one):
            agents.append(await AgentDouble.connect(running.port))
            await agents[-1].greet(epoch)
        state = running.fleet.get("host1")
        assert state is not None
        assert state.duplicate
        assert running.server.counts.duplicate_hosts == 1
        for agent in agents:
            await agent.close()


async def test_a_store_that_fails_acknowledges_nothing_and_recovers(store: FlakyStore) -> None:
    """While the store is down, hosts stay live and nothing is acknowledged; afterwards everything is, without help."""
    async with running_ingest(store) as running:
        store.down = True
        agent = await AgentDouble.connect(running.port)
        welcome = await agent.greet(layout=LAYOUT)
        assert not welcome.durable
        await agent.send(EPOCH.id, records(0, 60))
        await until(lambda: not running.server.store_up)
        state = running.fleet.get("host1")
        assert state is not None
        assert state.sequence == 59
        assert not [m for m in agent.received if m.HasField("acknowledgement")]
        store.down = False
        await agent.acknowledged(60, seconds=15)
        assert stored(store) == list(range(60))
        assert running.server.store_up
        await agent.close()


async def test_rows_over_budget_are_dropped_and_requested_again(store: FlakyStore) -> None:
    """Memory stays limited while the store is down; afterwards the collector requests the rows, and none is missing."""
    layout = make_layout(500)
    limits = LimitSettings(open_blocks_bytes=250_000, records_per_second=1000)
    settings = CollectorSettings(grpc=LOOPBACK, limits=limits)
    everything = [make_record(n, layout, [(n * 7919 * k) % 100_003 / 10 for k in range(500)]) for n in range(240)]
    async with running_ingest(store, settings) as running:
        store.down = True
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=layout)
        for start in range(0, 240, 20):
            await agent.send(EPOCH.id, everything[start : start + 20])
        await until(lambda: running.server.counts.records == 240)
        assert running.server.counts.blocks_dropped > 0
        assert running.server.open_bytes < 2 * 250_000
        store.down = False
        while len(stored(store)) < 240:
            rewind = (await agent.receive("rewind", 60)).rewind
            for start in range(int(getattr(rewind, "from")), 240, 20):
                await agent.send(EPOCH.id, everything[start : start + 20])
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)
        assert stored(store) == list(range(240))
        await agent.close()


@pytest.mark.parametrize(
    ("message", "code", "word"),
    [
        (pb.AgentMessage(goodbye=pb.Goodbye()), grpc.StatusCode.INVALID_ARGUMENT, "hello"),
        (pb.AgentMessage(hello=make_hello("a b")), grpc.StatusCode.INVALID_ARGUMENT, "host name"),
        (pb.AgentMessage(hello=make_hello("h" * 300)), grpc.StatusCode.INVALID_ARGUMENT, "host name"),
        (pb.AgentMessage(hello=make_hello("h", protocol=0)), grpc.StatusCode.FAILED_PRECONDITION, "too old"),
        (
            pb.AgentMessage(hello=make_hello("h", pb.SpooledEpoch(epoch=make_epoch(interval_ms=7)))),
            grpc.StatusCode.INVALID_ARGUMENT,
            "interval",
        ),
    ],
)
async def test_a_wrong_first_message_is_refused(
    store: FlakyStore, message: pb.AgentMessage, code: grpc.StatusCode, word: str
) -> None:
    """The stream ends with a status and a message with the reason."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.write(message)
        found, text = await agent.ended()
        assert found is code
        assert word in text
        assert sum(running.server.counts.rejected_streams.values()) == 1
        await agent.close()


async def test_a_newer_agent_is_served(store: FlakyStore) -> None:
    """A newer protocol is accepted; its unknown kinds are ignored."""
    unknown = pb.AgentMessage.FromString(b"\x6a\x03abc")
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.write(pb.AgentMessage(hello=make_hello("host1", protocol=99)))
        await agent.receive("welcome")
        await agent.write(unknown)
        await agent.write(pb.AgentMessage(definition=make_definition(LAYOUT)))
        await agent.send(EPOCH.id, records(0, 60))
        await agent.acknowledged(60)
        await agent.close()


async def test_too_many_records_a_second_end_the_stream(store: FlakyStore) -> None:
    """A host over its rate gets the reason, and other hosts are not affected."""
    settings = CollectorSettings(grpc=LOOPBACK, limits=LimitSettings(records_per_second=10))
    async with running_ingest(store, settings) as running:
        neighbour = await AgentDouble.connect(running.port, "neighbour")
        await neighbour.greet(layout=LAYOUT)
        flood = await AgentDouble.connect(running.port)
        await flood.greet(layout=LAYOUT)
        await flood.send(EPOCH.id, records(0, 101))
        code, text = await flood.ended()
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "10 live records a second" in text
        await neighbour.send(EPOCH.id, records(0, 60))
        await neighbour.acknowledged(60)
        await flood.close()
        await neighbour.close()


async def test_any_mix_of_replayed_records_settles(store: FlakyStore) -> None:
    """Batches, repetitions, gaps that are filled later and a refused record: each settles once."""
    broken = make_record(95, LAYOUT)[:-3]
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(pb.SpooledEpoch(epoch=EPOCH, first=0, next=180), layout=LAYOUT)
        batches = (records(0, 50), records(60, 90), records(40, 60), [*records(90, 95), broken, *records(96, 180)])
        for batch in batches:
            await agent.send(EPOCH.id, batch, replay=True)
        await agent.acknowledged(180)
        assert stored(store) == [n for n in range(180) if n != 95]
        counts = running.server.counts
        assert (counts.records, counts.replayed_records, counts.duplicate_records) == (179, 179, 10)
        assert sum(counts.refused_records.values()) == 1
        await agent.close()


async def test_replay_without_a_grant_is_refused(store: FlakyStore) -> None:
    """Far more than the grant ends the stream."""
    settings = CollectorSettings(grpc=LOOPBACK, limits=LimitSettings(replay_message_bytes=1024))
    async with running_ingest(store, settings) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(0, 3000), replay=True)
        code, _ = await agent.ended()
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        await agent.close()


async def test_too_many_streams_and_hosts_are_refused(store: FlakyStore) -> None:
    """The status names the setting."""
    settings = CollectorSettings(grpc=LOOPBACK, limits=LimitSettings(hosts=2, streams=1))
    async with running_ingest(store, settings) as running:
        first = await AgentDouble.connect(running.port, "a")
        await first.greet()
        second = await AgentDouble.connect(running.port, "b")
        await second.write(pb.AgentMessage(hello=make_hello("b")))
        code, text = await second.ended()
        assert (code, "limits.streams" in text) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True)
        await first.close()
        await until(lambda: running.server.streams == 0)
        for host in ("b", "c"):
            agent = await AgentDouble.connect(running.port, host)
            await agent.write(pb.AgentMessage(hello=make_hello(host)))
            if host == "b":
                await agent.receive("welcome")
                await agent.close()
                await until(lambda: running.server.streams == 0)
            else:
                code, text = await agent.ended()
                assert (code, "limits.hosts" in text) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True)
        assert running.server.streams == 0
        await second.close()


async def test_streams_without_a_hello_take_no_place(store: FlakyStore) -> None:
    """An agent is served while more idle streams are open than the limit allows."""
    settings = CollectorSettings(grpc=LOOPBACK, limits=LimitSettings(streams=1))
    async with running_ingest(store, settings) as running:
        idle = [await AgentDouble.connect(running.port, f"idle{number}") for number in range(3)]
        for agent in idle:
            await agent.call.wait_for_connection()
        honest = await AgentDouble.connect(running.port, "host1")
        await honest.greet()
        assert running.server.streams == 1
        for agent in (*idle, honest):
            await agent.close()


async def test_refused_agents_are_noted_with_who_and_why(store: FlakyStore) -> None:
    """A wrong hello is noted with the host that it claims; a stream that a newer one replaced is not."""
    refused = RefusedAgents()
    async with running_ingest(store, refused_agents=refused) as running:
        agents = [await AgentDouble.connect(running.port, "gpu-01") for _ in range(2)]
        await agents[0].greet()
        await agents[1].greet()
        assert (await agents[0].ended())[0] is grpc.StatusCode.ABORTED
        old = await AgentDouble.connect(running.port, "gpu-02")
        await old.write(pb.AgentMessage(hello=make_hello("gpu-02", protocol=0)))
        await old.ended()
        odd = await AgentDouble.connect(running.port, "a b")
        await odd.write(pb.AgentMessage(hello=make_hello("a b\n")))
        await odd.ended()
        found = [(agent.host, agent.certificate, agent.address, agent.count) for agent in refused.recent()]
        assert found == [("a b\n", "", "127.0.0.1", 1), ("gpu-02", "", "127.0.0.1", 1)]
        assert "too old" in refused.recent()[1].reason
        for agent in (*agents, old, odd):
            await agent.close()


async def test_an_agent_with_the_certificate_of_another_host_is_noted(store: FlakyStore, tmp_path: Path) -> None:
    """The entry has the claimed host and the names of the certificate."""
    authority = Authority(tmp_path / "certs")
    authority.initialise()
    server, agent = authority.issue("localhost", Part.COLLECTOR), authority.issue("gpu-07", Part.AGENT)
    contexts = ServerContexts(TlsFiles(server.certificate_file, server.key_file, authority.ca_file))
    credentials = grpc.ssl_channel_credentials(
        authority.ca_file.read_bytes(), agent.key_file.read_bytes(), agent.certificate_file.read_bytes()
    )
    refused = RefusedAgents()
    async with running_ingest(store, contexts=contexts, refused_agents=refused) as running:
        wrong = await AgentDouble.connect(running.port, "gpu-08", credentials)
        await wrong.write(pb.AgentMessage(hello=make_hello("gpu-08")))
        assert (await wrong.ended())[0] is grpc.StatusCode.PERMISSION_DENIED
        [found] = refused.recent()
        assert (found.host, found.certificate, found.address) == ("gpu-08", "gpu-07", "127.0.0.1")
        assert "presented a certificate for gpu-07" in found.reason
        await wrong.close()


async def test_recent_rows_are_readable_before_they_are_stored(store: FlakyStore) -> None:
    """Rows of an open block can be read by time."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(0, 40))
        await until(lambda: running.server.counts.records == 40)
        [group] = running.server.recent_rows("host1", 0, 1 << 62)
        assert group.sequences.tolist() == list(range(40))
        assert running.server.recent_rows("host1", 0, START_NS // 2) == []
        await agent.close()


async def test_a_store_that_hangs_does_not_delay_hosts(store: FlakyStore) -> None:
    """A call past its time limit marks the store as down; hosts stay live, and it recovers when the call returns."""
    settings = CollectorSettings(grpc=LOOPBACK, store=StoreSettings(time_limit_seconds=0.3))
    async with running_ingest(store, settings) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        store.open.clear()
        await agent.send(EPOCH.id, records(0, 60))
        await until(lambda: not running.server.store_up)
        await agent.send(EPOCH.id, records(60, 65))
        await until(lambda: running.server.counts.records == 65)
        store.open.set()
        await agent.acknowledged(60)
        assert running.server.store_up
        await agent.close()


async def test_a_message_over_the_limit_ends_only_its_stream(store: FlakyStore) -> None:
    """A message of more than limits.message_bytes is refused with a status; other hosts are not affected."""
    settings = CollectorSettings(grpc=LOOPBACK, limits=LimitSettings(message_bytes=100_000))
    async with running_ingest(store, settings) as running:
        neighbour = await AgentDouble.connect(running.port, "neighbour")
        await neighbour.greet(layout=LAYOUT)
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, [bytes(200_000)])
        code, _ = await agent.ended()
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        await neighbour.send(EPOCH.id, records(0, 60))
        await neighbour.acknowledged(60)
        await agent.close()
        await neighbour.close()


async def test_an_invalid_message_ends_its_stream(store: FlakyStore) -> None:
    """Bytes that are not an AgentMessage get INVALID_ARGUMENT."""
    async with running_ingest(store) as running:
        async with aio.insecure_channel(f"localhost:{running.port}") as channel:
            call = channel.stream_stream(CONNECT)()  # type: ignore[call-arg]  # the stubs know only the form with an iterator of requests
            await call.write(b"\xff\xff\xff")
            assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert running.server.counts.rejected_streams["unreadable"] == 1


async def test_records_of_an_unlisted_epoch_end_the_stream(store: FlakyStore) -> None:
    """A new hello, also on the same stream, lists further epochs, and nothing is lost."""
    other = make_epoch(9)
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.greet(pb.SpooledEpoch(epoch=EPOCH), pb.SpooledEpoch(epoch=other))
        await agent.send(other.id, records(0, 60))
        await agent.acknowledged(60)
        await agent.send(b"?" * 16, records(0, 60))
        code, text = await agent.ended()
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "send hello again" in text
        await agent.close()


async def test_times_are_corrected_and_the_skew_is_shown(store: FlakyStore) -> None:
    """Collector time comes from the boot clock; the skew of a wall clock that is years off is reported."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(0, 1))
        await until(lambda: running.server.counts.records == 1)
        state = running.fleet.get("host1")
        assert state is not None
        assert abs(state.corrected_ns - time.time_ns()) < 5_000_000_000
        assert state.clock_skew_seconds == pytest.approx((START_NS - time.time_ns()) / 1e9, abs=5)
        await agent.close()


async def test_health_is_served(store: FlakyStore) -> None:
    """The standard health service reports SERVING for the telemetry service."""
    async with running_ingest(store) as running, aio.insecure_channel(f"localhost:{running.port}") as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            health_pb2.HealthCheckRequest.SerializeToString,
            health_pb2.HealthCheckResponse.FromString,
        )
        answer = await check(health_pb2.HealthCheckRequest(service="flyball.v1.Telemetry"))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_a_removed_host_is_gone(store: FlakyStore) -> None:
    """Its stream ends, and its unstored data are dropped."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, records(0, 10))
        await until(lambda: running.server.counts.records == 10)
        running.fleet.remove("host1")
        running.server.forget_host("host1")
        code, text = await agent.ended()
        assert (code, "removed" in text) == (grpc.StatusCode.ABORTED, True)
        assert running.server.open_bytes == 0
        await agent.close()


async def test_counts_are_exported(store: FlakyStore) -> None:
    """The collector's own metrics are updated once a second."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, [*records(0, 60), *records(0, 5)])
        await agent.acknowledged(60)
        value = running.metrics.registry.get_sample_value
        await until(lambda: value("flyball_collector_written_blocks_total") == 1)
        assert value("flyball_collector_records_total") == 60
        assert value("flyball_collector_duplicate_records_total") == 5
        assert value("flyball_collector_streams") == 1
        assert value("flyball_collector_store_up") == 1
        await agent.close()
