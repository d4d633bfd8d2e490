"""The outbox: the newest of what replaces itself, in the order of events, and never too much."""

from flyball_agent.adjustments.outbox import MAX_MESSAGES, AdjustmentOutbox
from flyball_proto.v1 import adjust_pb2 as adjust
from flyball_proto.v1 import telemetry_pb2 as pb


def able(step: int) -> adjust.AgentAdjust:
    return adjust.AgentAdjust(able=adjust.Able(run="r", step=step))


def answer(name: str) -> adjust.AgentAdjust:
    return adjust.AgentAdjust(answer=adjust.Answer(id=name))


def test_a_newer_declaration_replaces_one_that_waits_and_goes_last() -> None:
    """A process that leaves is reported after its answers, although its declaration waited before them."""
    woken: list[int] = []
    outbox = AdjustmentOutbox(lambda: 0.0)
    outbox.begin_stream(lambda: woken.append(1))
    left = adjust.AgentAdjust(left=adjust.Left(run="r"))
    outbox.add(able(1), of="process")
    outbox.add(able(2), of="process")
    outbox.add(answer("a"))
    outbox.add(left, of="process")
    outbox.add(answer("b"))
    assert outbox.take(2) == [answer("a"), left]
    assert outbox.take() == [answer("b")]
    assert outbox.take() == []
    assert len(woken) == 5


def test_without_a_stream_nothing_waits() -> None:
    """Answers are kept for the next stream and for the record; the desk sends everything else again."""
    outbox = AdjustmentOutbox(lambda: 0.0)
    outbox.add(able(1), of="process")
    outbox.add_answer(answer("a"), pb.AdjustmentOutcome(id="a"))
    assert outbox.take() == []
    outbox.begin_stream(lambda: None)
    assert outbox.take() == [answer("a")]
    assert outbox.take_outcomes() == [pb.AdjustmentOutcome(id="a")]


def test_a_stream_that_is_stuck_costs_limited_memory() -> None:
    """Beyond a limit the oldest messages are dropped."""
    outbox = AdjustmentOutbox(lambda: 0.0)
    outbox.begin_stream(lambda: None)
    for number in range(MAX_MESSAGES + 10):
        outbox.add(answer(str(number)))
    waiting = outbox.take()
    assert [waiting[0], waiting[-1], len(waiting)] == [answer("10"), answer(str(MAX_MESSAGES + 9)), MAX_MESSAGES]
