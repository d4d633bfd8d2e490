"""The outbox of one receiver."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.outbox import MAX_WAITING, NOTIFIED, WAITING, Outbox
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import NOW_NS, changed, cleared, make_event

Documents = dict[tuple[str, str], bytes]


def take(outbox: Outbox, event: Event, before: Event | None = None) -> Documents:
    puts = outbox.take(entry_of(event), entry_of(before) if before else None, event.time_ns)
    return {(kind, id_): body for kind, id_, body in puts}


def waiting(outbox: Outbox) -> list[str]:
    return [entry.state for entry in outbox.entries()]


def test_a_receiver_gets_only_its_severities() -> None:
    """Conditions below its minimum are not sent, nor their end; one that becomes severe enough is, with its end."""
    outbox = Outbox("r", Severity.WARNING)
    mild = make_event(severity=Severity.INFO)
    assert take(outbox, mild) == {}
    assert take(outbox, cleared(mild), mild) == {}
    worse = changed(mild, severity=Severity.CRITICAL)
    assert take(outbox, worse, mild)
    milder = changed(worse, severity=Severity.INFO)
    assert take(outbox, milder, worse)
    assert take(outbox, cleared(milder), milder)
    assert waiting(outbox) == ["changed", "changed", "cleared"]


def test_unimportant_changes_are_not_sent() -> None:
    """Bottlenecks are not notified, nor changes with the same severity."""
    outbox = Outbox("r", Severity.INFO)
    assert take(outbox, make_event("bottleneck_cpu")) == {}
    event = make_event()
    assert take(outbox, event)
    assert take(outbox, changed(event, seconds_left=1.0), event) == {}


def test_it_is_restored_from_its_documents() -> None:
    """Loading the returned documents gives the same outbox."""
    outbox, stored = Outbox("r", Severity.WARNING), Documents()
    notified, waiting_event = make_event(), make_event("disk_full", at=1)
    stored |= take(outbox, notified) | take(outbox, waiting_event)
    puts, forgets = outbox.settle([entry_of(notified)])
    stored |= {(kind, id_): body for kind, id_, body in puts}
    for name in forgets:
        stored.pop(name, None)
    again = Outbox("r", Severity.WARNING)
    again.load(*({id_[2:]: body for (k, id_), body in stored.items() if k == kind} for kind in (WAITING, NOTIFIED)))
    assert again == outbox
    assert again.notified == {notified.condition: "critical"}
    again.load({"x": b"damaged"}, {})
    assert list(again.entries()) == [entry_of(waiting_event)]


@given(
    some.lists(some.tuples(some.integers(0, 3), some.sampled_from(["raise", "change", "clear", "settle", "give up"])))
)
def test_no_document_is_left_at_the_end(steps: list[tuple[int, str]]) -> None:
    """In any order of events: when everything is delivered and cleared, no document remains."""
    outbox, stored, active = Outbox("r", Severity.WARNING), dict[tuple[str, str], Any](), dict[int, Event]()

    def write(puts: list[Any], forgets: list[tuple[str, str]]) -> None:
        stored.update({(kind, id_): body for kind, id_, body in puts})
        for name in forgets:
            stored.pop(name, None)

    def settle() -> None:
        write(*outbox.settle(list(outbox.entries())))

    everything_ends = [(number, "clear") for number in range(4)]
    for clock, (number, step) in enumerate([*steps, *everything_ends]):
        before = active.get(number)
        if step == "raise" and before is None:
            active[number] = make_event(at=clock, host=str(number))
            stored |= take(outbox, active[number])
        elif step == "change" and before is not None:
            severity = Severity.WARNING if before.severity is Severity.CRITICAL else Severity.CRITICAL
            active[number] = changed(before, after=clock, severity=severity)
            stored |= take(outbox, active[number], before)
        elif step == "clear" and before is not None:
            stored |= take(outbox, cleared(active.pop(number), after=clock), before)
        elif step == "settle":
            settle()
        elif step == "give up":
            write([], outbox.give_up([entry.id for entry in outbox.entries()]))
    settle()
    assert (stored, outbox.notified, outbox.waiting) == ({}, {}, {})


def test_old_and_excess_entries_expire() -> None:
    """First those older than allowed, then the oldest beyond the limit."""
    outbox = Outbox("r", Severity.WARNING)
    for second in range(10):
        take(outbox, make_event(at=second))
    assert len(outbox.expired(NOW_NS + 3 * 10**9)) == 3
    assert outbox.expired(NOW_NS) == []
    for second in range(MAX_WAITING):
        take(outbox, make_event(at=100 + second))
    assert outbox.expired(NOW_NS) == list(outbox.waiting)[:10]
