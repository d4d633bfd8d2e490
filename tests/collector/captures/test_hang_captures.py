"""The collector orders stacks once for each hang, of ranks that it can reach; those that stopped first come first."""

from flyball_collector.captures.hang_captures import MAX_RANKS, HangCaptures
from flyball_collector.captures.orders import MAX_ACTIVE
from flyball_collector.captures.targets import CaptureTarget
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject
from tests.collector.captures.conftest import Desk, request, target


def event(state: State = State.RAISED, *, kind: str = "run_hang", condition: str = "c1") -> Event:
    return Event(
        condition=condition,
        time_ns=1,
        state=state,
        kind=BY_NAME[kind],
        subject=Subject(run="run"),
        severity=Severity.CRITICAL,
        confidence=1.0,
    )


def ranks(count: int, *, connected: bool = True) -> list[CaptureTarget]:
    return [CaptureTarget(rank, f"host{rank // 8}", 1000 + rank, True, connected) for rank in range(count)]


async def test_a_hang_is_captured_once(desk: Desk) -> None:
    """Changes and repetitions of the event order nothing; a later hang does."""
    hangs = HangCaptures(desk.orders, lambda run: ranks(2) if run == "run" else [])
    first = hangs.take([event(), event(State.CHANGED), event()])
    assert [(each.what, each.rank, each.condition, each.by) for each in first] == [
        ("stacks", 0, "c1", ""),
        ("stacks", 1, "c1", ""),
    ]
    assert hangs.take([event(), event(State.CLEARED)]) == []
    assert len(hangs.take([event(condition="c2")])) == 2


async def test_nothing_else_is_captured(desk: Desk) -> None:
    """A straggler's stacks are not wanted: it works."""
    hangs = HangCaptures(desk.orders, lambda _: ranks(2))
    assert hangs.take([event(kind="straggler"), event(kind="slow_start")]) == []
    assert desk.agents.orders == []


async def test_a_large_run_is_captured_in_part(desk: Desk) -> None:
    """The first ranks of the list are captured, up to a limit."""
    hangs = HangCaptures(desk.orders, lambda _: list(reversed(ranks(1000))))
    captured = hangs.take([event()])
    assert [each.rank for each in captured] == list(range(999, 999 - MAX_RANKS, -1))


async def test_hosts_without_a_stream_are_left_out(desk: Desk) -> None:
    """An order to a host that is gone would only fail."""
    hangs = HangCaptures(desk.orders, lambda _: [*ranks(1, connected=False), target(rank=5)])
    assert [each.rank for each in hangs.take([event()])] == [5]


async def test_too_many_captures_do_not_disturb_the_diagnosis(desk: Desk) -> None:
    """With all places taken, a hang is reported without stacks."""
    desk.orders.order(request(), [target(rank=rank) for rank in range(MAX_ACTIVE)])
    assert HangCaptures(desk.orders, lambda _: ranks(1)).take([event()]) == []
