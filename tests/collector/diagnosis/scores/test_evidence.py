"""Weighing: ramps, groups, and what is unknown."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import MOST, Group, Ramp, percent, sigmoid, weigh
from flyball_collector.diagnosis.subject import Subject, subjects

HOSTS = subjects([Subject("a"), Subject("b")], [0, 1])


def test_a_ramp_rises_between_its_levels_and_is_silent_of_the_unknown() -> None:
    """Below and above it is flat; a reading that is not known is no evidence either way."""
    ramp = Ramp(0.1, 0.3, below=-2.0, above=1.0)
    np.testing.assert_allclose(ramp(np.array([0.0, 0.1, 0.2, 0.3, 9.0, np.nan])), [-2, -2, -0.5, 1, 1, 0])


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=2), st.floats(-5, 5), st.floats(-5, 5))
def test_ramps_are_monotone(pair: list[float], below: float, above: float) -> None:
    """More of a reading never turns the evidence round."""
    low, high = Ramp(0.0, 1.0, below, above)(np.array(sorted(pair)))
    assert (high - low) * (above - below) >= -1e-9


def test_one_group_cannot_outweigh_everything() -> None:
    """Readings of a group depend on each other: what they add together is bounded, and only who speaks counts."""
    found = weigh(
        BY_NAME["bottleneck_cpu"],
        HOSTS,
        {Group.HOST: np.array([50.0, -50.0]), Group.STEPS: np.array([0.1, 1.0])},
        prior=-1.0,
        level=np.array([2.0, np.nan]),
        known=np.array([True, True]),
        evidence={},
        words=str,
    )
    np.testing.assert_allclose(found.log_odds, [-1 + MOST + 0.1, -1 - MOST + 1])
    assert found.groups.tolist() == [1, 1]
    assert found.level.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(found.probability, sigmoid(found.log_odds))


def test_unknown_shares_are_called_so() -> None:
    """Sentences never show a nan."""
    assert percent(float("nan")) == "unknown"
    assert percent(0.254) == "25%"
