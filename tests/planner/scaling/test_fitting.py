"""Laws found in measured times, and forecasts that hold what they promise."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.scaling.fitting import Point, ScalingFit, fit
from flyball_planner.scaling.laws import LAWS
from flyball_planner.scaling.running import SIZES, TARGETS
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
    """A run that takes a minute at the largest size, of which a share does not grow."""
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
    """From four sizes with 5 % of noise the law that made them is the likeliest."""
    found = fit(_measured(law, noise=0.05, seed=1))
    assert found.law == law
    assert math.isclose(sum(found.probabilities.values()), 1)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("law", GROWTHS)
def test_nine_in_ten_forecasts_hold(law: str, noise: float) -> None:
    """A hundred million and a billion, whose true times are known, lie within the interval as often as said."""
    held = []
    for seed in range(25):
        fixed = 10 ** np.random.default_rng(seed).uniform(-5, -0.5)
        found = fit(_measured(law, noise, seed, fixed=fixed))
        forecasts = found.curve(TARGETS)
        held += [each.holds(_seconds(law, size, fixed)) for each, size in zip(forecasts, TARGETS, strict=True)]
    assert sum(held) / len(held) >= 0.9


def test_forecasts_are_not_vacuous() -> None:
    """With little noise a linear law is told from its neighbours, and a billion is known within a factor."""
    found = fit(_measured("O(n)", noise=0.02, seed=3))
    forecast = found.seconds(1e9)
    assert found.probabilities["O(n)"] > 0.9
    assert forecast.high / forecast.low < 3


def test_within_what_was_measured_the_interval_is_narrow() -> None:
    """Between the sizes the forecast is as good as the measurements."""
    forecast = fit(_measured("O(n log n)", noise=0.03, seed=5)).seconds(20_000)
    assert forecast.width < 0.3
    assert forecast.holds(_seconds("O(n log n)", 20_000, 1e-3))


@given(st.sampled_from(sorted(GROWTHS)), st.floats(1e-6, 1e6), st.integers(0, 100))
@settings(max_examples=30)
def test_the_unit_of_time_does_not_matter(law: str, factor: float, seed: int) -> None:
    """Times in other units give the same laws and the same forecast in those units."""
    points = _measured(law, noise=0.1, seed=seed)
    found, scaled = fit(points), fit([Point(point.size, factor * point.seconds) for point in points])
    assert scaled.law == found.law
    assert scaled.seconds(1e8).middle == pytest.approx(factor * found.seconds(1e8).middle, rel=1e-6)


@given(st.integers(0, 200))
@settings(max_examples=30)
def test_larger_sizes_never_take_less(seed: int) -> None:
    """Every law rises, so does the forecast; and it grows less certain the farther it looks."""
    found = fit(_measured("O(n log n)", noise=0.1, seed=seed))
    curve = found.curve([1e5, 1e6, 1e7, 1e8, 1e9])
    middles = [each.middle for each in curve]
    assert middles == sorted(middles)
    assert curve[-1].high / curve[-1].low > curve[0].high / curve[0].low


def test_a_forecast_is_the_same_each_time() -> None:
    """Asked twice, the same answer."""
    points = _measured("O(n)", noise=0.1, seed=7)
    assert fit(points).seconds(1e8) == fit(points).seconds(1e8)


def test_unclear_laws_are_said_to_be() -> None:
    """Sizes too close together cannot tell n from n log n, and the fit says so."""
    points = [Point(size, size * 1e-3 * factor) for size in (1000, 1200, 1500) for factor in (0.9, 1.0, 1.1)]
    doubts = fit(points).doubts
    assert any("not clear" in doubt and "larger size" in doubt for doubt in doubts)


def test_times_without_a_law_are_said_to_have_none() -> None:
    """Times that jump about are a poor fit, whatever the law."""
    points = [Point(size, seconds) for size, seconds in zip(SIZES, (1.0, 9.0, 0.5, 7.0), strict=True)]
    assert any("no law describes" in doubt for doubt in fit(points).doubts)


def test_a_growth_that_hides_is_said_to() -> None:
    """Where most of the largest run does not grow, the forecast asks for a larger one."""
    found = fit(_measured("O(n)", noise=0.005, seed=2, fixed=0.8))
    assert any("does not grow" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([Point(1, 1), Point(10, 2)], "at least 3 different sizes"),
        ([Point(1, 1), Point(10, 2), Point(100, 0)], "no measurement"),
        ([Point(1, 1), Point(10, 2), Point(0, 3)], "no measurement"),
        ([Point(1, 1), Point(10, 2), Point(100, math.nan)], "no measurement"),
    ],
)
def test_too_little_is_refused(points: list[Point], message: str) -> None:
    """Two sizes fit any law, and a time of nothing is none."""
    with pytest.raises(InputError, match=message):
        fit(points)


def test_a_size_below_one_has_no_forecast() -> None:
    """Half a sample takes no time that a law could tell."""
    found: ScalingFit = fit(_measured("O(n)", noise=0.1, seed=1))
    with pytest.raises(InputError, match="sizes start at 1"):
        found.curve([0.5])


def test_the_laws_are_those_that_are_promised() -> None:
    """Six laws, each named as usual."""
    assert [law.name for law in LAWS] == list(GROWTHS)


@pytest.mark.parametrize("seconds", [(0.086, 0.1299, 0.2175), (0.0951, 0.1444, 0.2381), (0.0944, 0.1094, 0.2192)])
def test_what_is_left_of_all_laws_is_certain_together(seconds: tuple[float, float, float]) -> None:
    """Also where one lies just below what is negligible: probabilities that sum to a little more cannot be drawn."""
    found = fit([Point(size, each) for size, each in zip((1_000, 4_000, 16_000), seconds, strict=True)])
    assert math.fsum(each.weight for each in found.components) == pytest.approx(1, abs=1e-9)
    assert found.seconds(64_000).low > 0
