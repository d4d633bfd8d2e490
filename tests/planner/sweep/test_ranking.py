"""What a sweep found."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.sweep.configurations import Configuration
from flyball_planner.sweep.ranking import effects, ranked
from flyball_planner.sweep.trial import Outcome, run_trial


def _outcome(rate: float, failure: str = "", **values: int) -> Outcome:
    return Outcome(Configuration.of(values), seconds=1.0, patterns=rate, failure=failure)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans())))
def test_the_fastest_that_worked_comes_first(drawn: list[tuple[float, bool]]) -> None:
    """Rates fall along the ranking, and what failed is not in it."""
    outcomes = [_outcome(rate, "broke" if failed else "", depth=n) for n, (rate, failed) in enumerate(drawn)]
    rates = [outcome.patterns_per_second for outcome in ranked(outcomes)]
    assert rates == sorted(rates, reverse=True)
    assert len(rates) == sum(not failed for _, failed in drawn)


def test_the_value_that_matters_most_is_told_first() -> None:
    """Doubling with the depth matters more than nothing with the chunk size; what did not vary is left out."""
    outcomes = [_outcome(10 * depth, depth=depth, chunk=chunk, samples=9) for depth in (1, 2, 4) for chunk in (5, 6)]
    found = effects(outcomes)
    assert [(effect.name, effect.ratio) for effect in found] == [("depth", 4), ("chunk", 1)]
    assert found[0].patterns_per_second == {1: 10, 2: 20, 4: 40}


def test_a_task_says_what_it_got_done() -> None:
    """A number is the patterns; nothing means the samples; anything else is a failure that says so."""
    wanted = Configuration.of({"samples": 7})
    assert run_trial(lambda **_: 3, wanted).patterns == 3
    assert run_trial(lambda **_: None, wanted).patterns == 7
    assert "expected a number of patterns, got 'many'" in run_trial(lambda **_: "many", wanted).failure
    assert "expected a number of patterns, got -1" in run_trial(lambda **_: {"patterns": -1}, wanted).failure


def test_the_median_of_repeats_counts() -> None:
    """Each repeat is a call, and the time is their median."""
    calls: list[int] = []

    def task(depth: int) -> None:
        calls.append(depth)

    outcome = run_trial(task, Configuration.of({"depth": 1}), repeats=3)
    assert calls == [1, 1, 1]
    assert outcome.seconds == sorted(outcome.every_seconds)[1]
