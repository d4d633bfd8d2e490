"""The schedule by which places are evaluated."""

from flyball_collector.advice.evaluation_schedule import EVALUATE_AGAIN_SECONDS, EvaluationSchedule


def test_a_changed_place_is_due_at_once_and_then_once_a_minute() -> None:
    """It is due after a minute and not much later."""
    schedule = EvaluationSchedule()
    schedule.changed(["a"], 100.0)
    assert schedule.due(100.0) == ["a"]
    schedule.evaluated("a", 100.0)
    assert schedule.due(100.0 + EVALUATE_AGAIN_SECONDS - 1) == []
    assert schedule.due(100.0 + EVALUATE_AGAIN_SECONDS + 10) == ["a"]


def test_a_place_stays_due_until_it_was_evaluated() -> None:
    """A failed evaluation is repeated; a forgotten place is not due."""
    schedule = EvaluationSchedule()
    schedule.changed(["a", "b"], 100.0)
    schedule.evaluated("a", 100.0)
    assert schedule.due(101.0) == ["b"]
    schedule.forget(["b"])
    assert schedule.due(102.0) == []


def test_simultaneous_changes_are_spread_over_some_seconds() -> None:
    """No second takes more than a third of the fleet, and all places are due within ten seconds."""
    schedule, fleet = EvaluationSchedule(), [f"host-{number}" for number in range(2048)]
    schedule.changed(fleet, 100.0)
    seen = 0
    for second in range(100, 110):
        due = schedule.due(float(second))
        assert len(due) < 700
        for place in due:
            schedule.evaluated(place, float(second))
        seen += len(due)
    assert seen == 2048


def test_a_change_does_not_delay_a_place_that_is_due() -> None:
    """Among many changes, a place that waits already keeps its time."""
    schedule = EvaluationSchedule()
    schedule.changed(["z"], 100.0)
    schedule.changed([*(f"host-{number}" for number in range(200)), "z"], 100.0)
    assert "z" in schedule.due(100.0)


def test_when_time_goes_back_all_places_are_due() -> None:
    """This happens when another recording is played."""
    schedule = EvaluationSchedule()
    schedule.changed(["a"], 1000.0)
    assert schedule.due(1000.0) == ["a"]
    schedule.evaluated("a", 1000.0)
    assert schedule.due(10.0) == ["a"]
