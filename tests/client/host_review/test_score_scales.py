"""Scales from 0 to 10."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.host_review.score_scales import HIGHEST, SCALES, TRAINING_RATE, ScoreScale

any_scale = pytest.mark.parametrize("scale", SCALES, ids=lambda each: each.name)
VALUES = st.floats(min_value=0, max_value=1e18, allow_nan=False)


@any_scale
def test_anchors_rise_and_end_at_ten(scale: ScoreScale) -> None:
    """Values and scores of the anchors rise strictly, and the last one is a ten."""
    values = [each.value for each in scale.anchors]
    scores = [each.score for each in scale.anchors]
    assert values == sorted(set(values))
    assert scores == sorted(set(scores))
    assert scores[-1] == HIGHEST


@any_scale
def test_an_anchor_has_its_own_score(scale: ScoreScale) -> None:
    """A machine that is an anchor gets the score of the anchor."""
    assert [scale.score(each.value) for each in scale.anchors] == pytest.approx([each.score for each in scale.anchors])


@any_scale
@given(first=VALUES, second=VALUES)
def test_more_never_scores_less(scale: ScoreScale, first: float, second: float) -> None:
    """A score is monotone, and between 0 and 10."""
    low, high = sorted((first, second))
    assert 0 <= scale.score(low) <= scale.score(high) <= HIGHEST


def test_neighbours_are_the_machines_around_a_value() -> None:
    """A value is placed between two machines; beyond the ends there is one, and an equal machine is named alone."""
    assert TRAINING_RATE.neighbours(100e12) == "above RTX 3060 (4.0), below RTX 4090 (6.0)"
    assert TRAINING_RATE.neighbours(165e12) == "like RTX 4090 (6.0)"
    assert TRAINING_RATE.neighbours(1e18) == "above 8 × B200 (10.0)"
    assert TRAINING_RATE.neighbours(0.0) == "below a laptop's processor (0.5)"
