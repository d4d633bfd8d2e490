"""When a place is looked at."""

from flyball_collector.advice.agenda import LOOK_AGAIN_SECONDS, Agenda


def test_what_changed_is_due_at_once_and_then_once_a_minute() -> None:
    """Not before a minute is over, and not much later."""
    agenda = Agenda()
    agenda.changed(["a"], 100.0)
    assert agenda.due(100.0) == ["a"]
    agenda.looked("a", 100.0)
    assert agenda.due(100.0 + LOOK_AGAIN_SECONDS - 1) == []
    assert agenda.due(100.0 + LOOK_AGAIN_SECONDS + 10) == ["a"]


def test_a_place_stays_due_until_it_was_looked_at() -> None:
    """A look that failed is made up for; a place that is forgotten is not."""
    agenda = Agenda()
    agenda.changed(["a", "b"], 100.0)
    agenda.looked("a", 100.0)
    assert agenda.due(101.0) == ["b"]
    agenda.forget(["b"])
    assert agenda.due(102.0) == []


def test_what_changes_together_is_spread_over_some_seconds() -> None:
    """No second takes more than a third of a whole fleet, and all are due within ten seconds."""
    agenda, fleet = Agenda(), [f"host-{number}" for number in range(2048)]
    agenda.changed(fleet, 100.0)
    seen = 0
    for second in range(100, 110):
        due = agenda.due(float(second))
        assert len(due) < 700
        for place in due:
            agenda.looked(place, float(second))
        seen += len(due)
    assert seen == 2048


def test_a_change_does_not_put_off_what_is_due() -> None:
    """Among many that change now, one that waits already keeps its time."""
    agenda = Agenda()
    agenda.changed(["z"], 100.0)
    agenda.changed([*(f"host-{number}" for number in range(200)), "z"], 100.0)
    assert "z" in agenda.due(100.0)


def test_when_time_goes_back_everything_is_due() -> None:
    """As when another recording is played."""
    agenda = Agenda()
    agenda.changed(["a"], 1000.0)
    assert agenda.due(1000.0) == ["a"]
    agenda.looked("a", 1000.0)
    assert agenda.due(10.0) == ["a"]
