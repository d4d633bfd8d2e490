"""Replay grants: few at once, fair, and nothing beyond what was granted."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.ingest.grants import ReplayQueue

CREDIT = 1000


def test_places_are_few_and_go_round() -> None:
    """With two places and five hosts, everybody has had a turn after three."""
    queue = ReplayQueue(2, CREDIT, turn_seconds=10)
    hosts = [f"host{n}" for n in range(5)]
    granted: set[str] = set()
    for now in (0.0, 10.0, 20.0):
        for host in hosts:
            queue.want(host)
        granted |= {host for host, _ in queue.due(now)}
        assert queue.replaying == 2
        for host in hosts:
            queue.spend(host, CREDIT, now) if host in granted else None
    assert granted == set(hosts)


def test_credit_is_topped_up_while_it_is_used() -> None:
    """A host that has used half gets the rest again; one that has not gets nothing."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    assert queue.due(0) == [("a", CREDIT)]
    assert queue.due(1) == []
    assert queue.spend("a", 600, 1)
    assert queue.due(2) == [("a", 600)]


def test_a_stalled_host_loses_its_place_only_to_another() -> None:
    """Nobody waits: it stays. Somebody waits: it goes."""
    queue = ReplayQueue(1, CREDIT, turn_seconds=1000, stalled_seconds=15)
    queue.want("slow")
    queue.due(0)
    assert queue.due(100) == []
    queue.want("next")
    assert queue.due(101) == [("next", CREDIT)]


def test_an_empty_backlog_frees_the_place() -> None:
    """A host that is done leaves; credit it did not use counts in its next turn."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    queue.due(0)
    queue.spend("a", 100, 0)
    queue.leave("a")
    queue.want("b")
    assert queue.due(1) == [("b", CREDIT)]
    queue.leave("b")
    queue.want("a")
    assert queue.due(2) == []
    queue.spend("a", 500, 2)
    assert queue.due(3) == [("a", 600)]


def test_the_end_of_a_stream_ends_its_credit() -> None:
    """What was granted on an old stream is not owed by the new one."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    queue.due(0)
    queue.forget("a")
    assert queue.replaying == 0
    queue.want("a")
    assert queue.due(1) == [("a", CREDIT)]


def test_it_says_when_a_place_is_free_and_when_many_replay() -> None:
    """A place is of use only to somebody who waits; half of the places taken or waited for is many."""
    queue = ReplayQueue(4, CREDIT)
    seen = [(queue.vacant, queue.crowded)]
    for host in "abcde":
        queue.want(host)
        queue.due(0)
        seen.append((queue.vacant, queue.crowded))
    queue.leave("a")
    seen.append((queue.vacant, queue.crowded))
    assert seen == [(False, False)] * 3 + [(False, True)] * 3 + [(True, True)]


@given(st.lists(st.integers(1, 400), max_size=60))
def test_nobody_sends_much_more_than_was_granted(sizes: list[int]) -> None:
    """Spending is allowed up to one credit beyond the grants, and never further."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    granted = sum(count for _, count in queue.due(0))
    spent = 0
    for size in sizes:
        spent += size
        assert queue.spend("a", size, 0) == (spent <= granted + CREDIT)
