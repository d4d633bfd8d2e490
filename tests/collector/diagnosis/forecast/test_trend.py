"""Theil–Sen trends: properties that hold for any series."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.forecast.trend import rises, theil_sen, walk

SLOPES = st.floats(-10, 10)
SEEDS = st.integers(0, 2**31)


def noise(seed: int, count: int, rows: int = 1) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).normal(size=(count, rows))


@given(SLOPES, st.floats(-100, 100), st.integers(5, 30))
def test_a_line_has_its_slope(slope: float, offset: float, count: int) -> None:
    """For a straight line, slope and bounds are those of the line, and there is no scatter."""
    times = np.arange(float(count)) * 57
    trend = theil_sen(times, (offset + slope * times)[:, None], z=1.96)
    for value in (trend.slope, trend.low, trend.high):
        np.testing.assert_allclose(value, slope, atol=1e-9)
    np.testing.assert_allclose(trend.spread, 0, atol=1e-6)


@given(SEEDS, SLOPES, st.floats(0.1, 10))
def test_a_trend_is_linear(seed: int, slope: float, factor: float) -> None:
    """Adding a line adds its slope; multiplying multiplies it; shifting time changes nothing."""
    times, values = np.arange(16.0), noise(seed, 16)
    plain = theil_sen(times, values)
    other = theil_sen(times + 1e9, factor * (values + slope * times[:, None]))
    np.testing.assert_allclose(other.slope, factor * (plain.slope + slope), atol=1e-6)
    np.testing.assert_allclose(other.low, factor * (plain.low + slope), atol=1e-6)


@given(SEEDS, st.integers(2, 16), st.sampled_from([1.96, 2.576]))
def test_rising_series_are_found_without_a_fit(seed: int, count: int, z: float) -> None:
    """Counting finds a lower bound above zero, also with steps, ties and unknown values."""
    values = np.round(noise(seed, count, 12) + np.linspace(0, 1, 12) * np.arange(count)[:, None])
    values[np.random.default_rng(seed).random(values.shape) < 0.1] = np.nan
    np.testing.assert_array_equal(rises(values, z), theil_sen(np.arange(float(count)), values, z=z).low > 0)


@given(SEEDS, st.integers(8, 32))
def test_bounds_enclose_the_slope(seed: int, count: int) -> None:
    """The median slope is between its bounds, and wider bounds enclose narrower ones."""
    times, values = np.arange(float(count)), noise(seed, count, 4)
    near, far = theil_sen(times, values, z=1.0), theil_sen(times, values, z=1.96)
    assert (near.low <= near.slope).all()
    assert (near.slope <= near.high).all()
    assert (far.low <= near.low).all()
    assert (far.high >= near.high).all()


@given(SEEDS, st.lists(st.integers(0, 15), max_size=4, unique=True))
def test_a_quarter_of_wrong_readings_does_not_reverse_a_trend(seed: int, wrong: list[int]) -> None:
    """Theil–Sen breaks down at 29 % of wrong readings: with a quarter, the slope keeps its sign."""
    times = np.arange(16.0)
    values = times[:, None] + 0.01 * noise(seed, 16)
    values[wrong] = -1e6
    assert theil_sen(times, values).slope[0] > 0


def test_the_true_slope_is_within_the_bounds() -> None:
    """99 % bounds contain the true slope in 99 of 100 series of independent noise."""
    times, values = np.arange(18.0), noise(1, 18, 4000)
    trend = theil_sen(times, values + 0.3 * times[:, None])
    assert np.mean((trend.low <= 0.3) & (trend.high >= 0.3)) > 0.985


def test_autocorrelation_widens_the_bounds() -> None:
    """For correlated noise without a trend, far fewer series seem to have one if the correlation is considered."""
    rng = np.random.default_rng(2)
    values = np.zeros((18, 2000))
    for step in range(1, 18):
        values[step] = 0.9 * values[step - 1] + rng.normal(size=2000)
    plain, wide = theil_sen(np.arange(18.0), values), theil_sen(np.arange(18.0), values, correlated=True)
    assert np.mean(plain.low > 0) > 0.1
    assert np.mean(wide.low > 0) < 0.05


def test_unknown_readings_are_left_out() -> None:
    """NaN is not a reading: the others make the trend, and too few have no bounds."""
    times = np.arange(10.0)
    values = np.stack([2 * times, 2 * times, np.full(10, np.nan)], axis=1)
    values[[1, 4, 7], 0] = np.nan
    values[3:, 1] = np.nan
    trend = theil_sen(times, values)
    np.testing.assert_allclose(trend.slope[:2], 2)
    assert trend.points.tolist() == [7, 3, 0]
    assert np.isnan(trend.slope[2])
    assert np.isnan(trend.low[1])


def test_each_series_may_have_its_own_times() -> None:
    """Times may differ between series."""
    times = np.stack([np.arange(8.0), 57 * np.arange(8.0)], axis=1)
    np.testing.assert_allclose(theil_sen(times, times * [3, 5]).slope, [3, 5])


def test_a_walk_grows_with_the_root_of_its_steps() -> None:
    """Steps of one size and random sign lead as far as the root of their number; the steps of a line do not scatter."""
    steps = np.random.default_rng(3).choice([-1.0, 1.0], size=(400, 50))
    np.testing.assert_allclose(np.mean(walk(np.cumsum(steps, axis=0))), 20, rtol=0.02)
    np.testing.assert_allclose(walk(np.arange(30.0)[:, None]), 0, atol=1e-9)
