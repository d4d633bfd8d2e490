"""Tests of the scatter between suites."""

import numpy as np
import pytest

from flyball_planner.accuracy.between_suites import LeftOut, left_out, pace_deviation
from flyball_planner.belief import Belief

COMMON = Belief(("speed",), np.zeros(1), np.array([[0.05**2]]), scatter=0.08)


def suites(seed: int, deviation: float, count: int = 40) -> list[LeftOut]:
    """Return suites of five to sixty rows whose paces have this deviation."""
    random = np.random.default_rng(seed)
    found = []
    for name in range(count):
        rows = int(random.integers(5, 60))
        slopes = random.uniform(0.5, 1.0, (rows, 1))
        error = slopes[:, 0] * random.normal(0, 0.05) + random.normal(0, 0.08, rows) + random.normal(0, deviation)
        found.append(left_out(str(name), COMMON, slopes, error, most_runs=1e9))
    return found


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("deviation", [0.1, 0.25])
def test_the_scatter_of_suites_is_found(seed: int, deviation: float) -> None:
    """Forty suites give the deviation of their paces within a third."""
    assert pace_deviation(suites(seed, deviation)) == pytest.approx(deviation, rel=1 / 3)


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_suites_that_the_coefficients_explain_have_no_scatter(seed: int) -> None:
    """Errors that the coefficients' uncertainty and the scatter of runs explain are not counted twice."""
    assert pace_deviation(suites(seed, 0.0)) < 0.05


def test_the_rows_of_a_sweep_are_not_independent() -> None:
    """Two hundred rows of one suite certify no more than the limit."""
    rows = np.ones((200, 1))
    many, few = (left_out("", COMMON, rows, np.full(200, 0.1), limit) for limit in (1e9, 20.0))
    assert few.certainty < many.certainty
    assert few.pull / few.certainty == pytest.approx(0.1)
