"""Tests of whether configurations differ by more than equal runs do."""

import numpy as np
import pytest

from flyball_planner.sweep.comparison import compare_outcomes, failed_values
from flyball_planner.sweep.configurations import SweepConfiguration, grid
from flyball_planner.sweep.trial import TrialOutcome
from flyball_reports.errors import InputError

JUDGED = range(7_000, 7_150)  # the limits of comparison.py were chosen on seeds 0 to 999


def _outcomes(
    seed: int, effect: float, noise: float, repeats: int, depths: int = 5, chunks: int = 1
) -> list[TrialOutcome]:
    """Return runs whose time grows by a share from the first depth to the last one."""
    random = np.random.default_rng(seed)
    found = []
    for each in grid({"depth": range(depths), "chunk": range(chunks)}):
        middle = 1 + effect * float(each["depth"]) / (depths - 1)
        seconds = tuple(float(x) for x in middle * np.exp(noise * random.standard_normal(repeats)))
        found.append(TrialOutcome(each, float(np.median(seconds)), 100, every_seconds=seconds))
    return found


@pytest.mark.parametrize("noise", [0.005, 0.05, 0.2])
def test_equal_configurations_are_not_ranked(noise: float) -> None:
    """Of 150 sweeps without an effect, hardly any differs, whatever the noise."""
    found = [compare_outcomes(_outcomes(seed, 0.0, noise, repeats=3)) for seed in JUDGED]
    assert sum(each.differs for each in found) <= 0.04 * len(found)


def test_real_differences_are_ranked() -> None:
    """A time that grows by a third is found nearly always beside 5 % of noise, with three runs of each."""
    found = [compare_outcomes(_outcomes(seed, 0.35, 0.05, repeats=3)) for seed in JUDGED]
    assert sum(each.differs for each in found) >= 0.95 * len(found)
    assert all(each.repeated for each in found)


def test_single_runs_need_a_large_difference() -> None:
    """Without repeats the noise is an assumption: twice the time differs, and a tenth more does not."""
    assert compare_outcomes(_outcomes(1, 2.0, 0.02, repeats=1)).differs
    small = compare_outcomes(_outcomes(1, 0.1, 0.02, repeats=1))
    assert not small.differs
    assert not small.repeated


def test_a_name_without_an_effect_is_idle() -> None:
    """Beside a depth that matters, the chunk size does not."""
    for repeats in (1, 3):
        found = compare_outcomes(_outcomes(5, 3.0, 0.03, repeats=repeats, chunks=4))
        assert found.differs
        assert found.idle_names == ("chunk",)


def test_one_configuration_cannot_differ() -> None:
    """A single configuration is listed as it is."""
    assert compare_outcomes(_outcomes(1, 0.0, 0.01, repeats=1, depths=2)[:1]).differs


def test_a_value_that_always_fails_is_named() -> None:
    """It failed in all combinations; a value that failed only once is not one of them."""
    outcomes = [
        TrialOutcome(
            each, 1.0, 1.0, failure="exit status 1" if each["depth"] == 9 or each["chunk"] == each["depth"] else ""
        )
        for each in grid({"depth": [1, 2, 9], "chunk": [1, 5, 7]})
    ]
    (found,) = failed_values(outcomes)
    assert (found.name, found.value, found.combinations, found.failure) == ("depth", 9, 3, "exit status 1")


def test_failures_everywhere_name_no_value() -> None:
    """If everything fails, no value is to blame."""
    outcomes = [TrialOutcome(each, failure="broken") for each in grid({"depth": [1, 2], "chunk": [1, 2]})]
    assert failed_values(outcomes) == []


@pytest.mark.parametrize("values", [[3, 3], [1, 2, 1.0], ["a", "b", "a"]])
def test_the_same_value_twice_is_an_error(values: list[int | float | str]) -> None:
    """The same configuration would run twice."""
    with pytest.raises(InputError, match="twice"):
        grid({"depth": values})


def test_outcomes_without_speed_are_left_out() -> None:
    """A configuration that counted nothing has no speed to compare."""
    idle = TrialOutcome(SweepConfiguration.of({"depth": 1}), 1.0, 0.0)
    assert compare_outcomes([idle, idle]).spread == 0


def test_slow_starts_of_short_programs_have_no_effect() -> None:
    """Runs of 45 ms whose starts are slower for some minutes show no effect of the value that is varied last."""
    random = np.random.default_rng(7_200)
    found = []
    for each in grid({"depth": range(8), "chunk": range(21)}):
        drift = 0.045 * (1 + 0.3 * float(each["depth"]) / 7)
        seconds = float(drift * np.exp(0.1 * random.standard_normal()))
        found.append(TrialOutcome(each, seconds, 100, every_seconds=(seconds,)))
    compared = compare_outcomes(found, programs=True)
    assert not compared.differs
    assert compared.idle_names == ("chunk", "depth")
    assert compared.short_seconds == pytest.approx(0.052, rel=0.1)
    assert compare_outcomes(found).idle_names == ("chunk",)  # of functions, which have no start


def test_work_beside_a_short_start_is_an_effect() -> None:
    """A program whose runs take 50 to 400 ms is ranked, and one whose runs take 10 s has no short runs."""
    found = compare_outcomes(_scaled(0.05, 7.0), programs=True)
    assert (found.differs, found.idle_names) == (True, ("chunk",))
    assert compare_outcomes(_scaled(10.0, 0.5), programs=True).short_seconds is None


def _scaled(shortest: float, effect: float) -> list[TrialOutcome]:
    """Return outcomes whose first depth takes some seconds."""
    return [
        TrialOutcome(
            each.configuration,
            shortest * each.seconds,
            100,
            every_seconds=tuple(shortest * seconds for seconds in each.every_seconds),
        )
        for each in _outcomes(7_300, effect, 0.05, repeats=1, chunks=6)
    ]
