"""The newest entry of each active condition."""

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import changed, cleared, make_event


def test_an_entry_replaces_the_one_of_its_condition() -> None:
    """`update` returns the entry before it; a cleared condition is no longer active."""
    event, active = make_event(), ActiveEntries()
    raised, worse, over = (
        entry_of(each) for each in (event, changed(event, severity=Severity.CRITICAL), cleared(event))
    )
    assert [active.update(each) for each in (raised, worse)] == [None, raised]
    assert list(active.all()) == [worse]
    assert active.update(over) == worse
    assert list(active.all()) == []


def test_loaded_entries_do_not_replace_newer_ones() -> None:
    """An entry that was added before the store answered is newer than the stored one of its condition."""
    event, active = make_event(), ActiveEntries()
    stored, newer = entry_of(event), entry_of(changed(event, because="newer"))
    other = entry_of(make_event("disk_full"))
    active.update(newer)
    active.load([stored, other])
    assert {entry.condition: entry for entry in active.all()} == {newer.condition: newer, other.condition: other}


def test_the_worst_come_first_and_then_the_oldest() -> None:
    """The order of lists and notifications."""
    active = ActiveEntries()
    late, early = entry_of(make_event("memory_leak", at=9)), entry_of(make_event("disk_full", at=1))
    critical = entry_of(make_event("memory_exhaustion", at=20))
    active.load([late, critical, early])
    assert list(active.all()) == [critical, early, late]
