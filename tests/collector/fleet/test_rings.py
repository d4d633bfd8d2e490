"""The latest reports of ranks."""

import numpy as np
import pytest

from flyball_collector.fleet.ranks import RankKey, Ranks
from tests.collector.fleet.step_reports import START, add_reports, report


def test_the_latest_reports_are_in_order() -> None:
    """A ring holds the mean step of each report, oldest first; missing ones are unknown."""
    ranks = Ranks()
    for second in range(70):
        add_reports(ranks, second, report(0, steps=2, step_seconds=2.0 * second), report(1, steps=0, step_seconds=0))
    assert ranks.keys == (RankKey("r", 0, "a"), RankKey("r", 1, "a"))
    assert ranks.counts.tolist() == [70, 0]
    np.testing.assert_equal(ranks.ring("step_seconds", 3), [[67, np.nan], [68, np.nan], [69, np.nan]])
    assert ranks.times(2)[:, 0].tolist() == [START + 68, START + 69]
    assert np.isnan(ranks.ring("tokens", 3)).all()


def test_the_steady_mean_ignores_a_tenth_of_long_reports() -> None:
    """Of twenty reports two may be long; a third counts. A rank that never reported the value is unknown."""
    ranks = Ranks()
    for second in range(20):
        add_reports(ranks, second, report(0, step_seconds=9.0 if second in {3, 11} else 0.5))
    assert ranks.steady_mean("step_seconds", np.array([0])).tolist() == [0.5]
    assert ranks.mean("step_seconds").tolist() == pytest.approx([1.35])
    assert np.isnan(ranks.steady_mean("waiting_seconds", np.array([0]))).all()
    add_reports(ranks, 20, report(0, step_seconds=10.0))
    assert ranks.steady_mean("step_seconds", np.array([0])).tolist() == pytest.approx([(18 * 0.5 + 9.0) / 19])


def test_reports_of_one_second_count_as_one() -> None:
    """Their mean covers all their steps."""
    ranks = Ranks()
    add_reports(ranks, 0, report(steps=1, step_seconds=1.0, tokens=10), report(steps=3, step_seconds=1.0, tokens=30))
    assert ranks.ring("step_seconds", 1).tolist() == [[0.5]]
    assert ranks.ring("tokens", 1).tolist() == [[10]]
