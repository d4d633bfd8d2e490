"""Rises that may be a daily cycle, and rises that are not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.forecast.day_cycle import may_be_a_day
from flyball_collector.diagnosis.forecast.trend import theil_sen

POINTS = 18


@given(
    hours=st.sampled_from([1.5, 3.0, 9.0]),
    middle=st.floats(6, 24),
    swing=st.floats(0.02, 0.8),
    top=st.floats(0.85, 0.98),
)
def test_a_daily_cycle_up_to_its_steepest_point_is_recognised(
    hours: float, middle: float, swing: float, top: float
) -> None:
    """Whatever its range, a sine that leaves room at its top does not count as filling up before it slows down."""
    times = np.linspace(middle - hours / 2, middle + hours / 2, POINTS) * 3600  # 24: the steepest point
    use = (top - swing / 2 + swing / 2 * np.sin(2 * np.pi * times / 86_400))[:, None]
    trend = theil_sen(times, use)
    assert may_be_a_day(times, use, trend, 1 - use[-1])[0] or trend.slope[0] <= 0


@given(hours=st.sampled_from([3.0, 9.0]), share=st.floats(0.3, 0.9))
def test_a_straight_rise_with_little_room_is_not_a_daily_cycle(hours: float, share: float) -> None:
    """If the room is a fraction of the rise so far, the rise continues until memory is full."""
    gain = 0.3
    times = np.linspace(0, hours, POINTS) * 3600
    use = np.linspace(1 - gain * (1 + share / 2), 1 - gain * share / 2, POINTS)[:, None]
    assert not may_be_a_day(times, use, theil_sen(times, use), 1 - use[-1])[0]
