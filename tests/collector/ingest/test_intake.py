"""Intake without wires: who may replay, and when it is told."""

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import Gatherer
from flyball_collector.ingest.hello import check_hello
from flyball_collector.ingest.intake import Intake
from flyball_collector.ingest.outbox import Outbox
from flyball_collector.ingest.stream import Stream
from flyball_collector.settings import CollectorSettings, LimitSettings
from flyball_collector.testing import FakeClock, make_epoch, make_hello
from flyball_collector.wire.status import StatusCode
from flyball_proto.v1 import telemetry_pb2 as pb

CREDIT = 4 * LimitSettings().replay_message_bytes


class Ingest:
    """An intake of hosts of which one at a time may replay."""

    def __init__(self, *, store_up: bool = True) -> None:
        settings = CollectorSettings(limits=LimitSettings(replaying_hosts=1))
        self.clock = FakeClock()
        self.intake = Intake(settings, Fleet(), Gatherer(1 << 20), Counts(), self.clock, lambda *_: None)
        self.streams: dict[str, Stream] = {}
        self.ended: list[str] = []
        self.intake.tend(store_up=store_up)

    def connect(self, host: str) -> None:
        """A new stream of a host, greeted."""

        def end(_: StatusCode, reason: str, __: str) -> None:
            self.ended.append(reason)

        stream = self.streams[host] = Stream(host, end, Outbox())
        greeting = check_hello(make_hello(host))
        self.intake.greet(self.intake.attach(stream, greeting), greeting, {})

    def waits(self, host: str, backlog_bytes: int) -> None:
        """The host says how much it has to replay."""
        message = pb.Records(epoch=make_epoch().id, backlog_bytes=backlog_bytes)
        self.intake.records.take(self.intake.sources[host], self.streams[host], message, self.clock.time_ns())

    def granted(self, host: str) -> int:
        """What it was granted since this was last asked."""
        return sum(message.replay_grant.bytes for message in self.streams[host].outbox.drain())


def test_whoever_waits_is_granted_as_soon_as_there_is_a_place() -> None:
    """Not only when somebody looks, once a second: thousands may wait."""
    ingest = Ingest()
    for host in ("a", "b"):
        ingest.connect(host)
        ingest.waits(host, 1000)
    assert (ingest.granted("a"), ingest.granted("b")) == (CREDIT, 0)
    ingest.waits("a", 0)
    assert (ingest.granted("a"), ingest.granted("b")) == (0, CREDIT)


def test_a_new_stream_gets_a_grant_of_its_own() -> None:
    """What was granted to the stream before is gone with it; its place does not stay taken."""
    ingest = Ingest()
    ingest.connect("a")
    ingest.waits("a", 1000)
    assert ingest.granted("a") == CREDIT
    ingest.connect("a")
    assert ingest.ended == ["superseded"]
    assert ingest.intake.grants.replaying == 0
    ingest.waits("a", 1000)
    assert ingest.granted("a") == CREDIT


def test_nobody_is_granted_what_could_not_be_stored() -> None:
    """While the store is down agents keep what they have."""
    ingest = Ingest(store_up=False)
    ingest.connect("a")
    ingest.waits("a", 1000)
    assert ingest.granted("a") == 0
    ingest.intake.tend(store_up=True)
    assert ingest.granted("a") == CREDIT
