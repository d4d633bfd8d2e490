"""Tests of the queue of live records."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.spool.testing import a_tick
from flyball_agent.uplink.live_queue import LiveQueue
from flyball_proto.ranges import RangeSet


@given(st.lists(st.integers(0, 30), max_size=30))
def test_taken_spilled_and_waiting_are_everything(takes: list[int]) -> None:
    """For any sequence of takes, each record is either taken or spilled, in order."""
    queue = LiveQueue(b"e", max_bytes=2000)
    taken: list[int] = []
    spilled = RangeSet()
    sequence = 0
    for puts in takes:
        for _ in range(puts):
            queue.put(a_tick(sequence))
            sequence += 1
        taken += [tick.sequence for tick in queue.take(500)]
        spilled |= queue.take_spilled()
    while ticks := queue.take(10**9):
        taken += [tick.sequence for tick in ticks]
    assert taken == sorted(set(taken))
    assert RangeSet.of(taken) | spilled == RangeSet([(0, sequence)])
    assert not RangeSet.of(taken) & spilled
