"""The stream outbox: messages merge while they wait, so an agent that leaves them unread costs no memory."""

from flyball_collector.ingest.stream_outbox import StreamOutbox
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb


def test_messages_merge() -> None:
    """A thousand messages of one kind become one: the highest prefix, the lowest rewind, the sum of grants."""
    outbox = StreamOutbox()
    for n in range(1000):
        outbox.acknowledge(b"e", n)
        outbox.rewind(b"e", 2000 - n)
        outbox.grant(10)
        outbox.refuse(b"e", RangeSet.of([n]), "values")
    outbox.acknowledge(b"e", 5)
    messages = {message.WhichOneof("kind"): message for message in outbox.drain()}
    assert messages["acknowledgement"].acknowledgement.settled == 999
    assert getattr(messages["rewind"].rewind, "from") == 1001
    assert messages["replay_grant"].replay_grant.bytes == 10_000
    assert [(part.first, part.next) for part in messages["refused"].refused.ranges] == [(0, 1000)]
    assert list(outbox.drain()) == []


def test_the_welcome_is_first() -> None:
    """It precedes messages that wait already."""
    outbox = StreamOutbox()
    outbox.acknowledge(b"e", 1)
    outbox.grant(1)
    outbox.welcome(pb.Welcome(protocol=1))
    assert next(outbox.drain()).HasField("welcome")


def test_too_many_separate_refusals_overflow() -> None:
    """The number of ranges that cannot merge is limited."""
    outbox = StreamOutbox()
    for n in range(0, 2002, 2):
        assert not outbox.overflowing
        outbox.refuse(b"e", RangeSet.of([n]), "values")
    assert outbox.overflowing
