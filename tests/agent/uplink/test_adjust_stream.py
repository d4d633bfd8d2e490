"""The stream for adjustments: opened only where they are on, found again after a loss, and no burden to records."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from flyball_agent.testing import MemoryCollector, until_true
from flyball_agent.uplink.adjust_stream import AdjustLink
from flyball_agent.uplink.uplink import Uplink
from flyball_proto.v1 import adjust_pb2 as adjust
from tests.agent.adjustments.training_client import ID, DeskOfHost, desk_of_host, offer
from tests.agent.uplink.adjust_service import ScriptedAdjustService
from tests.agent.uplink.test_uplink import EPOCH, Agent, has


class Host:
    """An agent with a socket, and its link for adjustments."""

    def __init__(self, folder: Path, desk: DeskOfHost, address: str, unwilling_seconds: float = 300.0) -> None:
        self.desk = desk
        self.agent = Agent(folder / "spool", address)
        self.link = AdjustLink(
            desk.desk, "host-a", "0.1.0", lambda: EPOCH.id, unwilling_seconds=unwilling_seconds, first_wait_seconds=0.05
        )
        self.agent.uplink = Uplink(self.agent.uplink.settings, self.agent.state, chance=lambda: 0.1, adjust=self.link)
        self.agent.spool.begin(EPOCH)


@asynccontextmanager
async def host_of(
    folder: Path, address: str, *, enabled: bool = True, unwilling_seconds: float = 300.0
) -> AsyncIterator[Host]:
    """Run a host that is connected to a collector."""
    async with desk_of_host(folder, enabled=enabled) as desk:
        host = Host(folder, desk, address, unwilling_seconds)
        async with host.agent.running():
            await until_true(lambda: host.agent.self_metrics.connected)
            yield host


@pytest.fixture
def service() -> ScriptedAdjustService:
    """The collector's side of adjustments."""
    return ScriptedAdjustService()


@pytest.fixture
async def collector(service: ScriptedAdjustService) -> AsyncIterator[MemoryCollector]:
    """A collector that knows adjustments."""
    collector = MemoryCollector()
    collector.services.append(service.handler)
    async with collector:
        yield collector
        assert collector.faults == []


async def test_offers_and_answers_travel_beside_the_records(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """The hello comes first, then the values; an offer reaches the process, and its answer the collector."""
    async with host_of(tmp_path, collector.address) as host:
        client = await host.desk.client()
        await until_true(lambda: service.streams and service.kinds() == ["hello", "able"])
        hello = service.streams[0][0].hello
        assert (hello.host, hello.epoch, hello.agent_version, hello.term) == ("host-a", EPOCH.id, "0.1.0", 0)
        service.send(offer())
        await client.pushed_line("offer")
        await client.request({"kind": "prepared", "id": ID})
        await until_true(lambda: service.kinds() == ["hello", "able", "answer"])
        host.agent.tick(0)
        await collector.until(lambda: has(collector, 1))
        assert host.link.state == "on"


async def test_a_lost_stream_is_opened_again_with_everything_the_collector_must_know(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """Values and recent answers come again, the hello has the newest term, and the records' stream goes on."""
    async with host_of(tmp_path, collector.address) as host:
        client = await host.desk.client()
        await until_true(lambda: service.streams and service.kinds() == ["hello", "able"])
        service.send(offer(term=3))
        await client.pushed_line("offer")
        service.end()
        await client.request({"kind": "prepared", "id": ID})
        service.term = 3
        await until_true(lambda: len(service.streams) == 2 and len(service.kinds()) == 3)
        assert sorted(service.kinds()) == ["able", "answer", "hello"]
        assert service.streams[1][0].hello.term == 3
        assert len(collector.hellos) == 1


async def test_a_lost_collector_is_found_again(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """After a restart of the collector both streams come back, and nothing waits for the other."""
    async with host_of(tmp_path, collector.address) as host:
        await host.desk.client()
        await until_true(lambda: service.streams and service.kinds() == ["hello", "able"])
        await collector.stop()
        await collector.start()
        await until_true(lambda: len(service.streams) == 2 and service.kinds() == ["hello", "able"])
        assert len(collector.hellos) == 2


async def test_without_the_setting_no_stream_is_opened(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """It follows a switch in both directions."""
    async with host_of(tmp_path, collector.address, enabled=False) as host:
        host.agent.tick(0)
        await collector.until(lambda: has(collector, 1))
        assert service.streams == []
        host.desk.desk.switch(enabled=True)
        await until_true(lambda: service.streams and service.kinds() == ["hello"])
        await until_true(lambda: host.link.state == "on")
        host.desk.desk.switch(enabled=False)
        await until_true(lambda: host.link.state == "off")
        host.desk.desk.switch(enabled=True)
        await until_true(lambda: len(service.streams) == 2)


async def test_an_old_collector_is_not_a_fault(tmp_path: Path) -> None:
    """It does not know the service: it is asked once, its records arrive, and the reason is kept."""
    async with MemoryCollector() as old, host_of(tmp_path, old.address) as host:
        await until_true(lambda: host.link.state != "off")
        host.agent.tick(0)
        await old.until(lambda: has(old, 1))
        assert host.link.state == "UNIMPLEMENTED: the collector does not know adjustments; update it"
        assert len(old.hellos) == 1


async def test_an_unwilling_collector_is_asked_again_much_later(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """A refusal is not repeated at once; when the collector allows adjustments later, they begin."""
    service.refuse = (grpc.StatusCode.PERMISSION_DENIED, "adjustments are off on this collector")
    async with host_of(tmp_path, collector.address, unwilling_seconds=0.5) as host:
        await until_true(lambda: host.link.state.startswith("PERMISSION_DENIED: adjustments are off"))
        service.refuse = None
        await until_true(lambda: host.link.state == "on")
        assert service.opened[1] - service.opened[0] >= 0.5


async def test_an_unwilling_collector_is_asked_again_after_its_restart(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """A collector that was restarted may have new settings, so its agents do not wait for the usual time."""
    service.refuse = (grpc.StatusCode.PERMISSION_DENIED, "adjustments are off on this collector")
    async with host_of(tmp_path, collector.address) as host:
        await until_true(lambda: host.link.state.startswith("PERMISSION_DENIED: adjustments are off"))
        await collector.stop()
        service.refuse = None
        await collector.start()
        await until_true(lambda: host.link.state == "on")


async def test_a_collector_of_an_older_term_is_not_obeyed(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """The agent ends its stream, and reports which term is the newest."""
    service.term = 4
    async with host_of(tmp_path, collector.address) as host:
        assert host.desk.desk.take_welcome(adjust.AdjustWelcome(term=5))
        await until_true(lambda: "another collector acts" in host.link.state)
        assert host.link.state == "term 4 of this collector is older than 5: another collector acts"
        service.term = 5
        await until_true(lambda: host.link.state == "on")


async def test_messages_of_a_newer_collector_are_ignored(
    tmp_path: Path, collector: MemoryCollector, service: ScriptedAdjustService
) -> None:
    """A kind that this version does not know changes nothing."""
    async with host_of(tmp_path, collector.address) as host:
        client = await host.desk.client()
        await until_true(lambda: service.streams and service.kinds() == ["hello", "able"])
        newer = adjust.CollectorAdjust()
        newer.MergeFromString(b"\x7a\x02\x08\x01")  # field 15
        service.send(newer)
        service.send(offer())
        assert (await client.pushed_line("offer"))["id"] == ID
        assert len(service.streams) == 1
