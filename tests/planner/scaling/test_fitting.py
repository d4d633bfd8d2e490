"""Tests of fitting scaling laws to measured times and of the coverage of forecasts."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.scaling.fitting import Point, ScalingFit, fit
from flyball_planner.scaling.laws import LAWS
from flyball_planner.scaling.measurement import SIZES, TARGETS
from flyball_reports.errors import InputError

GROWTHS: dict[str, Callable[[float], float]] = {
    "O(1)": lambda _: 1.0,
    "O(log n)": math.log,
    "O(n)": lambda n: n,
    "O(n log n)": lambda n: n * math.log(n),
    "O(n²)": lambda n: n**2,
    "O(n³)": lambda n: n**3,
}


def _seconds(law: str, size: float, fixed: float) -> float:
    """Return the seconds of a run that takes a minute at the largest size and has a fixed share."""
    growth = GROWTHS[law]
    return 60 * (fixed + (1 - fixed) * growth(size) / growth(SIZES[-1]))


def _measured(law: str, noise: float, seed: int, repeats: int = 3, fixed: float = 1e-3) -> list[Point]:
    random = np.random.default_rng(seed)
    return [
        Point(size, _seconds(law, size, fixed) * math.exp(noise * random.standard_normal()))
        for size in SIZES
        for _ in range(repeats)
    ]


@pytest.mark.parametrize("law", GROWTHS)
def test_every_law_is_found(law: str) -> None:
    """From four sizes with 5 % noise the true law is the most probable one."""
    found = fit(_measured(law, noise=0.05, seed=1))
    assert found.law == law
    assert math.isclose(sum(found.probabilities.values()), 1)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("law", GROWTHS)
def test_forecast_intervals_have_their_coverage(law: str, noise: float) -> None:
    """At least 90 % of the intervals at the target sizes contain the true time."""
    covered = []
    for seed in range(25):
        fixed = 10 ** np.random.default_rng(seed).uniform(-5, -0.5)
        found = fit(_measured(law, noise, seed, fixed=fixed))
        forecasts = found.curve(TARGETS)
        covered += [each.holds(_seconds(law, size, fixed)) for each, size in zip(forecasts, TARGETS, strict=True)]
    assert sum(covered) / len(covered) >= 0.9


def test_forecasts_are_not_vacuous() -> None:
    """With little noise a linear law is identified, and the forecast for 10⁹ is within a factor of 3."""
    found = fit(_measured("O(n)", noise=0.02, seed=3))
    forecast = found.seconds(1e9)
    assert found.probabilities["O(n)"] > 0.9
    assert forecast.high / forecast.low < 3


def test_the_interval_is_narrow_within_the_measured_range() -> None:
    """Between the measured sizes the forecast is about as precise as the measurements."""
    forecast = fit(_measured("O(n log n)", noise=0.03, seed=5)).seconds(20_000)
    assert forecast.width < 0.3
    assert forecast.holds(_seconds("O(n log n)", 20_000, 1e-3))


@given(st.sampled_from(sorted(GROWTHS)), st.floats(1e-6, 1e6), st.integers(0, 100))
@settings(max_examples=30)
def test_the_unit_of_time_does_not_matter(law: str, factor: float, seed: int) -> None:
    """Times in another unit give the same law and the same forecast in that unit."""
    points = _measured(law, noise=0.1, seed=seed)
    found, scaled = fit(points), fit([Point(point.size, factor * point.seconds) for point in points])
    assert scaled.law == found.law
    assert scaled.seconds(1e8).middle == pytest.approx(factor * found.seconds(1e8).middle, rel=1e-6)


@given(st.integers(0, 200))
@settings(max_examples=30)
def test_larger_sizes_never_take_less(seed: int) -> None:
    """The forecast rises with the size, and so does its uncertainty."""
    found = fit(_measured("O(n log n)", noise=0.1, seed=seed))
    curve = found.curve([1e5, 1e6, 1e7, 1e8, 1e9])
    middles = [each.middle for each in curve]
    assert middles == sorted(middles)
    assert curve[-1].high / curve[-1].low > curve[0].high / curve[0].low


def test_a_forecast_is_reproducible() -> None:
    """The same points always give the same forecast."""
    points = _measured("O(n)", noise=0.1, seed=7)
    assert fit(points).seconds(1e8) == fit(points).seconds(1e8)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([Point(1, 1), Point(10, 2)], "at least 3 different sizes"),
        ([Point(1, 1), Point(10, 2), Point(100, 0)], "invalid measurement"),
        ([Point(1, 1), Point(10, 2), Point(0, 3)], "invalid measurement"),
        ([Point(1, 1), Point(10, 2), Point(100, math.nan)], "invalid measurement"),
    ],
)
def test_too_little_is_refused(points: list[Point], message: str) -> None:
    """Fewer than three sizes and values that are not positive numbers are refused."""
    with pytest.raises(InputError, match=message):
        fit(points)


def test_a_size_below_one_has_no_forecast() -> None:
    """A forecast for half a sample is refused."""
    found: ScalingFit = fit(_measured("O(n)", noise=0.1, seed=1))
    with pytest.raises(InputError, match="a size must be at least 1"):
        found.curve([0.5])


def test_the_laws_are_complete() -> None:
    """There are six laws with their usual names."""
    assert [law.name for law in LAWS] == list(GROWTHS)


@pytest.mark.parametrize("seconds", [(0.086, 0.1299, 0.2175), (0.0951, 0.1444, 0.2381), (0.0944, 0.1094, 0.2192)])
def test_weights_sum_to_one(seconds: tuple[float, float, float]) -> None:
    """The weights sum to one even if a law is just below the negligible weight."""
    found = fit([Point(size, each) for size, each in zip((1_000, 4_000, 16_000), seconds, strict=True)])
    assert math.fsum(each.weight for each in found.components) == pytest.approx(1, abs=1e-9)
    assert found.seconds(64_000).low > 0
