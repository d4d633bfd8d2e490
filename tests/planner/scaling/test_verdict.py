"""Tests of when measured times show a law, and of the range when they do not."""

import math

import pytest

from flyball_planner.scaling.fitting import Point, fit
from flyball_planner.scaling.verdict import forecasts_by_law, verdict_of
from tests.planner.scaling.growth_curves import SIZES, Curve, drawn

TARGETS = (100_000_000, 1_000_000_000)
JUDGED = range(5_000, 5_080)  # the limits of verdict.py were chosen on seeds 0 to 999


def test_a_clear_law_has_no_obstacles() -> None:
    """Quiet times over three decades that nearly all grow show their law, and nothing is recommended."""
    for law in ("O(n)", "O(n²)", "O(n³)"):
        verdict = verdict_of(fit(Curve(law, SIZES[1], fixed=1e-4, noise=0.02).points(seed=3)))
        assert (verdict.law, verdict.obstacles, verdict.sizes) == (law, (), ())


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([Point(n, n * 1e-3 * f) for n in (1000, 1200, 1500) for f in (0.99, 1.0, 1.01)], "factor of only 1.5"),
        ([Point(n, 0.05 * f) for n in SIZES[0] for f in (0.97, 1.0, 1.02)], "hardly grows"),
        ([Point(n, 0.5 + 1e-6 * n * f) for n in SIZES[0] for f in (0.99, 1.0, 1.01)], "does not grow with the size"),
        ([Point(n, s) for n, s in zip(SIZES[0], (1.0, 9.0, 0.5, 7.0), strict=True)], "no law describes"),
        ([Point(n, 1 + n / 1e4) for n in SIZES[0]], "at only 2 sizes"),
    ],
)
def test_each_obstacle_forbids_a_single_forecast(points: list[Point], words: str) -> None:
    """Close sizes, times that hardly grow, start-up and noise each leave no law, with sizes to run next."""
    verdict = verdict_of(fit(points))
    assert verdict.law is None
    assert any(words in obstacle for obstacle in verdict.obstacles), verdict.obstacles
    assert len(verdict.sizes) >= 3


def test_the_range_covers_every_law_that_fits() -> None:
    """Times of a program that mostly starts fit several laws; their forecasts differ widely and all are shown."""
    found = fit([Point(n, 0.05 + 1e-7 * n * f) for n in SIZES[0] for f in (0.9, 1.0, 1.1)])
    verdict = verdict_of(found)
    ranges = forecasts_by_law(found, verdict.laws, TARGETS)
    assert {"O(n)", "O(n²)"} <= set(ranges)
    assert ranges["O(n²)"][1].high > 100 * ranges["O(n)"][1].high


def test_recommended_sizes_do_not_take_too_long() -> None:
    """For a task of minutes smaller sizes are recommended, and for one of milliseconds larger ones."""
    slow = verdict_of(fit([Point(n, n * 0.5 * f) for n in (1000, 1200, 1500) for f in (0.99, 1.0, 1.01)]))
    fast = verdict_of(fit([Point(n, n * 1e-5 * f) for n in (1000, 1200, 1500) for f in (0.99, 1.0, 1.01)]))
    assert max(slow.sizes) <= 1500
    assert max(fast.sizes) > 1500
    assert fast.sizes[-1] >= 8 * fast.sizes[0]


def test_named_laws_are_true_and_ranges_hold() -> None:
    """On curves that were drawn after the limits were chosen, a law that is named is the true one, nine forecasts in
    ten hold, and ranges hold where no law is named."""
    right, held, ranged = [], [], []
    for seed in JUDGED:
        curve = drawn(seed)
        found = fit(curve.points(seed))
        verdict = verdict_of(found)
        ranges = {} if verdict.law else forecasts_by_law(found, verdict.laws, TARGETS)
        for row, size in enumerate(TARGETS):
            true = curve.seconds(size)
            if verdict.law is None:
                ranged.append(
                    min(r[row].low for r in ranges.values()) <= true <= max(r[row].high for r in ranges.values())
                )
            else:
                held.append(found.seconds(size).holds(true))
        if verdict.law is not None:
            right.append(verdict.law == curve.law)
    assert len(right) > len(JUDGED) / 8
    assert sum(right) / len(right) >= 0.95
    assert sum(held) / len(held) >= 0.9
    assert sum(ranged) / len(ranged) >= 0.9


def test_a_law_keeps_its_own_forecast() -> None:
    """The forecast of one law of several has only this law's growth."""
    found = fit([Point(n, 0.05 + 1e-7 * n * f) for n in SIZES[0] for f in (0.9, 1.0, 1.1)])
    square = found.of_law("O(n²)").seconds(1e9).middle / found.of_law("O(n²)").seconds(1e8).middle
    assert square == pytest.approx(100, rel=0.1)
    assert math.isclose(sum(each.weight for each in found.of_law("O(n)").components), 1)
