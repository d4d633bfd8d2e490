"""The replay queue: few hosts at once, fair, and nothing beyond the grants."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.ingest.replay_queue import ReplayQueue

CREDIT = 1000


def test_slots_rotate() -> None:
    """With two slots and five hosts, each host has had a slot after three rounds."""
    queue = ReplayQueue(2, CREDIT, slot_seconds=10)
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


def test_credit_is_renewed_while_it_is_used() -> None:
    """A host that has used half gets the full credit again; one that has not gets nothing."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    assert queue.due(0) == [("a", CREDIT)]
    assert queue.due(1) == []
    assert queue.spend("a", 600, 1)
    assert queue.due(2) == [("a", 600)]


def test_a_stalled_host_loses_its_slot_only_to_another() -> None:
    """While no host waits it keeps the slot."""
    queue = ReplayQueue(1, CREDIT, slot_seconds=1000, stalled_seconds=15)
    queue.want("slow")
    queue.due(0)
    assert queue.due(100) == []
    queue.want("next")
    assert queue.due(101) == [("next", CREDIT)]


def test_an_empty_backlog_frees_the_slot() -> None:
    """A host that is done leaves; its unused credit counts in its next slot."""
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
    """The credit of an old stream does not count for the new one."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    queue.due(0)
    queue.forget("a")
    assert queue.replaying == 0
    queue.want("a")
    assert queue.due(1) == [("a", CREDIT)]


def test_it_reports_a_free_slot_and_a_busy_queue() -> None:
    """A slot is vacant only if a host waits; the queue is busy when half of the slots are taken or waited for."""
    queue = ReplayQueue(4, CREDIT)
    seen = [(queue.vacant, queue.busy)]
    for host in "abcde":
        queue.want(host)
        queue.due(0)
        seen.append((queue.vacant, queue.busy))
    queue.leave("a")
    seen.append((queue.vacant, queue.busy))
    assert seen == [(False, False)] * 3 + [(False, True)] * 3 + [(True, True)]


@given(st.lists(st.integers(1, 400), max_size=60))
def test_no_host_sends_much_more_than_its_grant(sizes: list[int]) -> None:
    """It may exceed the grants by one credit, and not by more."""
    queue = ReplayQueue(1, CREDIT)
    queue.want("a")
    granted = sum(count for _, count in queue.due(0))
    spent = 0
    for size in sizes:
        spent += size
        assert queue.spend("a", size, 0) == (spent <= granted + CREDIT)
