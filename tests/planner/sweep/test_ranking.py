"""Tests of ranking the outcomes of a sweep."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.sweep.configurations import SweepConfiguration
from flyball_planner.sweep.ranking import effects, ranked
from flyball_planner.sweep.trial import TrialOutcome, run_trial


def _outcome(rate: float, failure: str = "", **values: int) -> TrialOutcome:
    return TrialOutcome(SweepConfiguration.of(values), seconds=1.0, patterns=rate, failure=failure)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans())))
def test_the_fastest_outcome_comes_first(drawn: list[tuple[float, bool]]) -> None:
    """The ranking is by falling rate and does not contain failures."""
    outcomes = [_outcome(rate, "broke" if failed else "", depth=n) for n, (rate, failed) in enumerate(drawn)]
    rates = [outcome.patterns_per_second for outcome in ranked(outcomes)]
    assert rates == sorted(rates, reverse=True)
    assert len(rates) == sum(not failed for _, failed in drawn)


def test_the_largest_effect_comes_first() -> None:
    """The depth has a larger effect than the chunk size; a value that does not vary is left out."""
    outcomes = [_outcome(10 * depth, depth=depth, chunk=chunk, samples=9) for depth in (1, 2, 4) for chunk in (5, 6)]
    found = effects(outcomes)
    assert [(effect.name, effect.ratio) for effect in found] == [("depth", 4), ("chunk", 1)]
    assert found[0].patterns_per_second == {1: 10, 2: 20, 4: 40}


def test_a_task_returns_its_patterns() -> None:
    """A number counts as patterns and None as the samples; anything else is a failure."""
    configuration = SweepConfiguration.of({"samples": 7})
    assert run_trial(lambda **_: 3, configuration).patterns == 3
    assert run_trial(lambda **_: None, configuration).patterns == 7
    assert "expected a number of patterns, got 'many'" in run_trial(lambda **_: "many", configuration).failure
    assert "expected a number of patterns, got -1" in run_trial(lambda **_: {"patterns": -1}, configuration).failure


def test_the_time_is_the_median_of_repeats() -> None:
    """Each repeat is one call, and the time is the median."""
    calls: list[int] = []

    def task(depth: int) -> None:
        calls.append(depth)

    outcome = run_trial(task, SweepConfiguration.of({"depth": 1}), repeats=3)
    assert calls == [1, 1, 1]
    assert outcome.seconds == sorted(outcome.every_seconds)[1]
