"""Weighing: ramps, sources, unknown values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import MOST, EvidenceSource, Ramp, percent, sigmoid, weigh
from flyball_collector.diagnosis.subject import Subject, subjects

HOSTS = subjects([Subject("a"), Subject("b")], [0, 1])


def test_a_ramp_rises_between_its_levels_and_is_zero_for_unknown_values() -> None:
    """Below and above it is constant; an unknown reading supports neither side."""
    ramp = Ramp(0.1, 0.3, below=-2.0, above=1.0)
    np.testing.assert_allclose(ramp(np.array([0.0, 0.1, 0.2, 0.3, 9.0, np.nan])), [-2, -2, -0.5, 1, 1, 0])


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=2), st.floats(-5, 5), st.floats(-5, 5))
def test_ramps_are_monotone(pair: list[float], below: float, above: float) -> None:
    """A higher reading never reverses the evidence."""
    low, high = Ramp(0.0, 1.0, below, above)(np.array(sorted(pair)))
    assert (high - low) * (above - below) >= -1e-9


def test_one_source_cannot_outweigh_everything() -> None:
    """Readings of a source depend on each other: their sum is limited, and only supporting sources count."""
    found = weigh(
        BY_NAME["bottleneck_cpu"],
        HOSTS,
        {EvidenceSource.HOST: np.array([50.0, -50.0]), EvidenceSource.STEPS: np.array([0.1, 1.0])},
        prior=-1.0,
        level=np.array([2.0, np.nan]),
        known=np.array([True, True]),
        evidence={},
        words=str,
    )
    np.testing.assert_allclose(found.log_odds, [-1 + MOST + 0.1, -1 - MOST + 1])
    assert found.sources.tolist() == [1, 1]
    assert found.level.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(found.probability, sigmoid(found.log_odds))


def test_unknown_shares_are_shown_as_unknown() -> None:
    """Texts never contain nan."""
    assert percent(float("nan")) == "unknown"
    assert percent(0.254) == "25 %"
