"""Streams for adjustments: only allowed hosts, one stream each, and nothing that an agent sends disturbs another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.streams.adjust_streams import (
    MAX_FAULTS,
    MESSAGE_BYTES,
    WAITING_MESSAGES,
    AdjustStreams,
)
from flyball_collector.adjustments.streams.stream_budget import BURST_BYTES, BURST_MESSAGES, HostBudgets
from flyball_collector.ingest.server import IngestServer
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import AgentDouble, make_epoch, make_layout, make_record, running_ingest
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2
from tests.collector.adjustments.adjust_agent import AdjustAgent, KeepingGovernor, until

ON = AdjustmentsSettings(enabled=True)
ABLE = pb.AgentAdjust(able=pb.Able(run="r", rank=0, world_size=1, pid=7))
OFFER = pb.CollectorAdjust(offer=pb.Offer(id="00000000000000a1", term=7, run="r", name="micro_batch", to="8"))


@dataclass
class Running:
    """An ingest server that serves adjustments."""

    port: int
    server: IngestServer
    streams: AdjustStreams
    governor: KeepingGovernor


@asynccontextmanager
async def running(settings: AdjustmentsSettings = ON) -> AsyncIterator[Running]:
    governor = KeepingGovernor()
    streams = AdjustStreams(settings, governor)
    async with running_ingest(MemoryStore(), adjust=streams) as ingest:
        yield Running(ingest.port, ingest.server, streams, governor)


async def test_messages_pass_in_both_directions_until_the_agent_leaves() -> None:
    """The governor gets each message with its host, sends to it, and learns when it is gone."""
    async with running() as here:
        agent = AdjustAgent.connect(here.port)
        await agent.hello()
        assert (await agent.receive()).welcome.term == 7
        await agent.send(ABLE)
        await until(lambda: here.governor.taken)
        assert here.governor.taken == [("node-1", ABLE)]
        assert here.streams.hosts == {"node-1"}
        assert here.streams.send("node-1", OFFER)
        assert await agent.receive() == OFFER
        assert not here.streams.send("node-2", OFFER)
        await agent.close()
        await until(lambda: here.governor.lost == ["node-1"])
        assert not here.streams.send("node-1", OFFER)


async def test_a_newer_stream_replaces_the_older_one() -> None:
    """The same start of the agent keeps its ranks; those of another start are unknown until they declare again."""
    async with running() as here:
        first = await AdjustAgent.greeted(here.port)
        second = await AdjustAgent.greeted(here.port)
        assert await first.ended() == (grpc.StatusCode.ABORTED, "superseded by a newer stream of host 'node-1'")
        assert here.streams.send("node-1", OFFER)
        assert await second.receive() == OFFER
        assert here.governor.lost == []
        third = await AdjustAgent.greeted(here.port, epoch=b"f" * 16)
        assert (await second.ended())[0] is grpc.StatusCode.ABORTED
        assert here.governor.lost == ["node-1"]
        for agent in (first, second, third):
            await agent.close()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            AdjustmentsSettings(),
            "adjustments are off on this collector (adjustments.enabled, or `flyball up --adjust`)",
        ),
        (
            AdjustmentsSettings(enabled=True, hosts=("gpu-*", "node-2")),
            "adjustments are not allowed on host 'node-1' (adjustments.hosts)",
        ),
    ],
)
async def test_a_host_that_may_not_take_part_is_refused(settings: AdjustmentsSettings, reason: str) -> None:
    """The agent gets the name of the setting, and the governor never hears of it."""
    async with running(settings) as here:
        agent = AdjustAgent.connect(here.port)
        await agent.hello()
        assert await agent.ended() == (grpc.StatusCode.PERMISSION_DENIED, reason)
        assert (here.governor.taken, here.governor.lost) == ([], [])
        await agent.close()


async def test_a_host_that_matches_a_pattern_takes_part() -> None:
    """Patterns are those of file names."""
    async with running(AdjustmentsSettings(enabled=True, hosts=("gpu-*",))) as here:
        agent = await AdjustAgent.greeted(here.port, "gpu-17")
        assert here.streams.hosts == {"gpu-17"}
        await agent.close()


async def test_a_collector_without_a_governor_refuses_every_host() -> None:
    """It answers as one on which adjustments are off."""
    async with running_ingest(MemoryStore()) as ingest:
        agent = AdjustAgent.connect(ingest.port)
        await agent.hello()
        assert (await agent.ended())[0] is grpc.StatusCode.PERMISSION_DENIED
        await agent.close()


async def test_only_a_hosts_own_certificate_may_answer_for_it(tmp_path: Path) -> None:
    """A stranger with a valid certificate of another host is refused, counted and listed."""
    authority = Authority(tmp_path)
    authority.initialise()
    server = authority.issue("collector", Part.COLLECTOR, also=("localhost", "127.0.0.1"))
    governor, refused = KeepingGovernor(), RefusedAgents()
    files = TlsFiles(server.certificate_file, server.key_file, authority.ca_file)
    async with running_ingest(
        MemoryStore(), contexts=ServerContexts(files), refused_agents=refused, adjust=AdjustStreams(ON, governor)
    ) as ingest:
        issued = authority.issue("node-1", Part.AGENT)
        credentials = grpc.ssl_channel_credentials(
            authority.ca_file.read_bytes(), issued.key_file.read_bytes(), issued.certificate_file.read_bytes()
        )
        stranger, honest = (AdjustAgent.connect(ingest.port, credentials) for _ in range(2))
        await stranger.hello("node-2")
        code, text = await stranger.ended()
        assert code is grpc.StatusCode.PERMISSION_DENIED
        assert "'node-2' presented a certificate for node-1" in text
        assert ingest.server.counts.rejected_streams["adjust_certificate"] == 1
        assert [(each.host, each.certificate) for each in refused.recent()] == [("node-2", "node-1")]
        await honest.hello("node-1")
        assert (await honest.receive()).HasField("welcome")
        for agent in (stranger, honest):
            await agent.close()
    assert governor.taken == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (ABLE.SerializeToString(), "the first message of a stream must be hello"),
        (b"", "the first message of a stream must be hello"),
        (b"\xff\xff\xff", "message of 3 bytes is not a valid AgentAdjust"),
        (pb.AgentAdjust(hello=pb.AdjustHello(host="a b")).SerializeToString(), "host name 'a b': expected"),
    ],
)
async def test_a_stream_without_a_valid_hello_is_refused(body: bytes, reason: str) -> None:
    """Nothing of it reaches the governor, and it is counted."""
    async with running() as here:
        agent = AdjustAgent.connect(here.port)
        await agent.send_bytes(body)
        code, text = await agent.ended()
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert text.startswith(reason)
        assert (here.governor.taken, here.governor.lost) == ([], [])
        assert sum(here.server.counts.rejected_streams.values()) == 1
        await agent.close()


async def test_what_breaks_the_protocol_ends_only_its_stream() -> None:
    """A second hello, invalid bytes, and a message that is too long: the other host goes on."""
    async with running() as here:
        honest = await AdjustAgent.greeted(here.port, "honest")
        too_long = pb.AgentAdjust(able=pb.Able(run="x" * MESSAGE_BYTES)).SerializeToString()
        second_hello = pb.AgentAdjust(hello=pb.AdjustHello(host="node-1")).SerializeToString()
        expected = {
            second_hello: grpc.StatusCode.INVALID_ARGUMENT,
            b"\xff\xff": grpc.StatusCode.INVALID_ARGUMENT,
            too_long: grpc.StatusCode.RESOURCE_EXHAUSTED,
        }
        for body, code in expected.items():
            agent = await AdjustAgent.greeted(here.port)
            await agent.send_bytes(body)
            assert (await agent.ended())[0] is code
            await agent.close()
        assert here.governor.lost == ["node-1"] * 3
        assert here.streams.send("honest", OFFER)
        assert await honest.receive() == OFFER
        await honest.close()


async def test_messages_of_a_newer_agent_are_ignored() -> None:
    """A kind that this version does not know is neither passed on nor an error."""
    async with running() as here:
        agent = await AdjustAgent.greeted(here.port)
        await agent.send_bytes(b"\x7a\x02\x08\x01")  # field 15
        await agent.send(ABLE)
        await until(lambda: here.governor.taken)
        assert [message for _, message in here.governor.taken] == [ABLE]
        await agent.close()


async def test_messages_that_cannot_be_used_end_the_stream_in_the_end() -> None:
    """A few are tolerated; an agent that sends nothing else is cut off with the reason."""
    async with running() as here:
        here.governor.fault = "rank 9 of 4"
        agent = await AdjustAgent.greeted(here.port)
        for _ in range(MAX_FAULTS + 1):
            await agent.send(ABLE)
        code, text = await agent.ended()
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert text == f"more than {MAX_FAULTS} messages that cannot be used; the last one: rank 9 of 4"
        assert len(here.governor.taken) == MAX_FAULTS + 1
        await agent.close()


async def test_a_flood_ends_its_stream() -> None:
    """Beyond the rate the stream is ended, and a new one does not help."""
    governor = KeepingGovernor()
    async with running_ingest(MemoryStore(), adjust=AdjustStreams(ON, governor, monotonic=lambda: 1000.0)) as ingest:
        agent = await AdjustAgent.greeted(ingest.port)
        for _ in range(int(BURST_MESSAGES) + 1):
            await agent.send(ABLE)
        assert (await agent.ended())[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert len(governor.taken) == BURST_MESSAGES
        assert ingest.server.counts.rejected_streams["adjust_rate"] == 1
        await agent.close()
        again = await AdjustAgent.greeted(ingest.port)
        await again.send(ABLE)
        assert (await again.ended())[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert len(governor.taken) == BURST_MESSAGES
        await again.close()


async def test_sending_never_waits() -> None:
    """Beyond a limit of unread messages, send returns False at once."""
    async with running() as here:
        agent = await AdjustAgent.greeted(here.port)
        sent = 0
        while here.streams.send("node-1", OFFER):
            sent += 1
        assert WAITING_MESSAGES <= sent <= WAITING_MESSAGES + 1
        await agent.close()


async def test_an_agent_that_obeys_a_newer_collector_is_let_go() -> None:
    """A collector whose term has passed must not act."""
    async with running() as here:
        agent = AdjustAgent.connect(here.port)
        await agent.hello(term=8)
        assert await agent.ended() == (
            grpc.StatusCode.FAILED_PRECONDITION,
            "the agent has seen term 8; this collector has 7 and may not act",
        )
        await agent.close()


async def test_a_stopping_collector_ends_the_streams() -> None:
    """Agents are asked to reconnect."""
    async with running() as here:
        agent = await AdjustAgent.greeted(here.port)
        here.streams.stop()
        assert await agent.ended() == (grpc.StatusCode.UNAVAILABLE, "the collector is stopping; reconnect")
        await agent.close()


async def test_a_removed_host_loses_its_stream() -> None:
    """It is over for adjustments as for records."""
    async with running() as here:
        agent = await AdjustAgent.greeted(here.port)
        here.server.forget_host("node-1")
        assert (await agent.ended())[0] is grpc.StatusCode.ABORTED
        await agent.close()


async def test_outcomes_in_records_reach_the_governor_and_the_fleet_once() -> None:
    """Live or replayed, sent twice or not: each record's outcomes are passed on once."""
    governor = KeepingGovernor()
    layout, epoch = make_layout(), make_epoch()
    outcomes = [
        telemetry_pb2.AdjustmentOutcome(
            id=f"{n:016x}", run="r", rank=n, outcome="applied", to="8", observed="8", step=240, time_ns=5 + n
        )
        for n in range(4)
    ]
    records = [make_record(n, layout, adjustments=[outcome]) for n, outcome in enumerate(outcomes, 1)]  # one batch
    async with running_ingest(MemoryStore(), adjust=AdjustStreams(ON, governor)) as ingest:
        agent = await AgentDouble.connect(ingest.port)
        await agent.greet(layout=layout)
        await agent.send(epoch.id, records[2:])
        await agent.send(epoch.id, records[2:])
        await agent.send(epoch.id, [], backlog_bytes=1000)
        await agent.receive("replay_grant")
        await agent.send(epoch.id, records[:2], replay=True)
        await until(lambda: len(governor.outcomes) == 4)
        assert [each for _, each in governor.outcomes] == outcomes[2:] + outcomes[:2]
        state = ingest.fleet.get("host1")
        assert state is not None
        assert [(each.rank, each.outcome, each.value_to, each.step) for each in state.outcomes] == [
            (n, "applied", "8", 240) for n in range(4)
        ]
        await agent.close()


def test_bytes_are_limited_as_well_as_messages() -> None:
    """Long messages use up the bytes of a host; time gives them back, and another host has its own."""
    budgets = HostBudgets()
    budget = budgets.of("node-1", 0.0)
    sizes = [budget.spend(MESSAGE_BYTES, 0.0) for _ in range(200)]
    assert sizes.count(True) == BURST_BYTES // MESSAGE_BYTES
    assert budgets.of("node-1", 0.0) is budget
    assert budgets.of("node-2", 0.0).spend(MESSAGE_BYTES, 0.0)
    assert not budget.spend(MESSAGE_BYTES, 0.1)
    assert budget.spend(MESSAGE_BYTES, 1.0)


def test_many_hosts_do_not_fill_the_memory() -> None:
    """Budgets that are full again are forgotten; those in use are kept."""
    budgets = HostBudgets()
    used = budgets.of("node-0", 0.0)
    for number in range(10_000):
        budgets.of(f"node-{number + 1}", 0.0)
        used.spend(MESSAGE_BYTES, 0.0)
        assert budgets.of("node-0", 0.0) is used
    assert len(budgets) < 5000
