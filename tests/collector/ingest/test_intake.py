"""Intake without connections: which hosts get replay grants, and when."""

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.agent_stream import AgentStream
from flyball_collector.ingest.block_buffer import BlockBuffer
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.hello import check_hello
from flyball_collector.ingest.intake import Intake
from flyball_collector.ingest.stream_outbox import StreamOutbox
from flyball_collector.settings import CollectorSettings, LimitSettings
from flyball_collector.testing import FakeClock, make_epoch, make_hello
from flyball_collector.wire.status import StatusCode
from flyball_proto.v1 import telemetry_pb2 as pb

CREDIT = 4 * LimitSettings().replay_message_bytes


class Ingest:
    """An intake that lets one host replay at a time."""

    def __init__(self, *, store_up: bool = True) -> None:
        settings = CollectorSettings(limits=LimitSettings(replaying_hosts=1))
        self.clock = FakeClock()
        self.intake = Intake(settings, Fleet(), BlockBuffer(1 << 20), Counts(), self.clock, lambda *_: None)
        self.streams: dict[str, AgentStream] = {}
        self.ended: list[str] = []
        self.intake.every_second(store_up=store_up)

    def connect(self, host: str) -> None:
        """Attach a new stream of a host and send its welcome."""

        def end(_: StatusCode, reason: str, __: str) -> None:
            self.ended.append(reason)

        stream = self.streams[host] = AgentStream(host, end, StreamOutbox())
        greeting = check_hello(make_hello(host))
        self.intake.greet(self.intake.attach(stream, greeting), greeting, {})

    def report_backlog(self, host: str, backlog_bytes: int) -> None:
        """Report a host's backlog."""
        message = pb.Records(epoch=make_epoch().id, backlog_bytes=backlog_bytes)
        self.intake.records.take(self.intake.sources[host], self.streams[host], message, self.clock.time_ns())

    def granted(self, host: str) -> int:
        """Return the bytes granted since the last call."""
        return sum(message.replay_grant.bytes for message in self.streams[host].outbox.drain())


def test_a_waiting_host_gets_a_free_slot_at_once() -> None:
    """It does not wait for the periodic check once a second, because thousands may wait."""
    ingest = Ingest()
    for host in ("a", "b"):
        ingest.connect(host)
        ingest.report_backlog(host, 1000)
    assert (ingest.granted("a"), ingest.granted("b")) == (CREDIT, 0)
    ingest.report_backlog("a", 0)
    assert (ingest.granted("a"), ingest.granted("b")) == (0, CREDIT)


def test_a_new_stream_gets_its_own_grant() -> None:
    """The old stream's grant is gone with it, and its slot is free."""
    ingest = Ingest()
    ingest.connect("a")
    ingest.report_backlog("a", 1000)
    assert ingest.granted("a") == CREDIT
    ingest.connect("a")
    assert ingest.ended == ["superseded"]
    assert ingest.intake.grants.replaying == 0
    ingest.report_backlog("a", 1000)
    assert ingest.granted("a") == CREDIT


def test_no_grants_while_the_store_is_down() -> None:
    """The agents keep their records."""
    ingest = Ingest(store_up=False)
    ingest.connect("a")
    ingest.report_backlog("a", 1000)
    assert ingest.granted("a") == 0
    ingest.intake.every_second(store_up=True)
    assert ingest.granted("a") == CREDIT
