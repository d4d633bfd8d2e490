"""What a receiver has yet to be told."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.outbox import MAX_WAITING, TOLD, WAITING, Outbox
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import NOW_NS, changed, cleared, make_event

Documents = dict[tuple[str, str], bytes]


def take(outbox: Outbox, event: Event, before: Event | None = None) -> Documents:
    puts = outbox.take(entry_of(event), entry_of(before) if before else None, event.time_ns)
    return {(kind, id_): body for kind, id_, body in puts}


def waiting(outbox: Outbox) -> list[str]:
    return [entry.state for entry in outbox.entries()]


def test_a_receiver_is_told_of_its_severities_only() -> None:
    """What is less bad than it wants is not told, nor its end; what becomes bad enough is, and then its end."""
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


def test_what_is_no_news_is_not_told() -> None:
    """Bottlenecks do not notify; a change that leaves the severity as it is neither."""
    outbox = Outbox("r", Severity.INFO)
    assert take(outbox, make_event("bottleneck_cpu")) == {}
    event = make_event()
    assert take(outbox, event)
    assert take(outbox, changed(event, seconds_left=1.0), event) == {}


def test_it_comes_back_from_what_was_written() -> None:
    """Loading what the methods returned gives the same outbox."""
    outbox, stored = Outbox("r", Severity.WARNING), Documents()
    told, unheard = make_event(), make_event("disk_full", at=1)
    stored |= take(outbox, told) | take(outbox, unheard)
    puts, forgets = outbox.settle([entry_of(told)])
    stored |= {(kind, id_): body for kind, id_, body in puts}
    for name in forgets:
        stored.pop(name, None)
    again = Outbox("r", Severity.WARNING)
    again.load(*({id_[2:]: body for (k, id_), body in stored.items() if k == kind} for kind in (WAITING, TOLD)))
    assert again == outbox
    assert again.told == {told.condition: "critical"}
    again.load({"x": b"damaged"}, {})
    assert list(again.entries()) == [entry_of(unheard)]


@given(
    some.lists(some.tuples(some.integers(0, 3), some.sampled_from(["raise", "change", "clear", "settle", "give up"])))
)
def test_nothing_is_left_behind(steps: list[tuple[int, str]]) -> None:
    """Whatever happens in whatever order: when all is told and over, no document is left."""
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
    assert (stored, outbox.told, outbox.waiting) == ({}, {}, {})


def test_what_waits_too_long_or_is_too_much_goes() -> None:
    """First what is older than it may be; then the oldest beyond the limit."""
    outbox = Outbox("r", Severity.WARNING)
    for second in range(10):
        take(outbox, make_event(at=second))
    assert len(outbox.too_old(NOW_NS + 3 * 10**9)) == 3
    assert outbox.too_old(NOW_NS) == []
    for second in range(MAX_WAITING):
        take(outbox, make_event(at=100 + second))
    assert outbox.too_old(NOW_NS) == list(outbox.waiting)[:10]
