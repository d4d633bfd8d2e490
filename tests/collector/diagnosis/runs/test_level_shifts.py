"""Level shifts in series of step times."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.level_shifts import REPORTS, LevelShifts, ShiftState, medians
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects


def update(shifts: LevelShifts, series: NDArray[np.float64], count: int, seconds: float = 1.0) -> ShiftState:
    """Take the latest reports of each series (report × series), of which it has `count` by now."""
    many = series.shape[1]
    shifts.fresh(_named(many), np.full(many, count))
    latest = np.full((REPORTS, many), np.nan)
    some = np.log(series[max(0, count - REPORTS) : count])
    latest[REPORTS - len(some) :] = some
    times = np.repeat((np.arange(count - REPORTS, count) * seconds)[:, None], many, axis=1)
    return shifts.update(np.arange(many), np.full(many, count), times, latest)


@cache
def _named(many: int) -> Subjects:
    return subjects([Subject(run="r", rank=rank) for rank in range(many)])


def shifts_of_all(series: NDArray[np.float64], every: int = 1) -> list[list[tuple[int, bool]]]:
    """Return for each series after how many reports it was shifted, and when it was back."""
    shifts, shifted = LevelShifts(), np.zeros(series.shape[1], dtype=bool)
    found: list[list[tuple[int, bool]]] = [[] for _ in shifted]
    for count in range(1, len(series) + 1, every):
        now = update(shifts, series, count).shifted
        for place in np.flatnonzero(now != shifted):
            found[place].append((count, bool(now[place])))
        shifted = now
    return found


def shifts_of(series: NDArray[np.float64], every: int = 1) -> list[tuple[int, bool]]:
    """Return the same for one series."""
    return shifts_of_all(series[:, None], every)[0]


def noisy(length: int, seed: int, spread: float = 0.03, level: float = 0.2) -> NDArray[np.float64]:
    """Return step times with a realistic heavy tail and slow drift."""
    rng = np.random.default_rng(seed)
    wander = np.zeros(length)
    for at in range(1, length):
        wander[at] = 0.9 * wander[at - 1] + rng.normal(0, spread / 4)
    series: NDArray[np.float64] = level * np.exp(rng.normal(0, spread, length) + wander)
    outliers = rng.random(length) < 0.02
    series[outliers] *= rng.uniform(1.5, 8, np.count_nonzero(outliers))
    return series


@pytest.mark.parametrize("spread", [0.005, 0.03, 0.06])
def test_noise_and_outliers_are_not_a_shift(spread: float) -> None:
    """None of three hundred series with a constant level ever shifts."""
    series = np.stack([noisy(600, seed, spread) for seed in range(300)], axis=1)
    assert not any(shifts_of_all(series, every=4))


@pytest.mark.parametrize("ratio", [1.25, 1.6, 5.0])
def test_a_shift_and_its_end_are_found_soon(ratio: float) -> None:
    """Both take about twenty reports; the past is not forgotten in between."""
    series = np.stack([noisy(1200, seed) for seed in range(100)], axis=1)
    series[300:900] *= ratio
    for found in shifts_of_all(series):
        assert [state for _, state in found] == [True, False]
        assert 300 < found[0][0] <= 325
        assert 900 < found[1][0] <= 925


def test_a_shift_has_its_start_and_size() -> None:
    """They are accurate to a few reports and a few hundredths."""
    series = noisy(400, 1)
    series[300:] *= 1.5
    shifts = LevelShifts()
    for count in range(1, 341):
        state = update(shifts, series[:, None], count, seconds=10.0)
    assert state.shifted[0]
    assert abs(state.since[0] - 3000) <= 40
    assert abs(state.reports[0] - 40) <= 4
    assert state.shift[0] == pytest.approx(np.log(1.5), abs=0.05)
    assert np.exp(state.usual[0]) == pytest.approx(0.2, rel=0.05)


def test_a_single_slow_report_is_not_the_start_of_a_shift() -> None:
    """A checkpoint shortly before a shift does not make it older."""
    series = noisy(340, 8, spread=0.005)
    series[290] *= 4
    series[300:] *= 1.5
    shifts = LevelShifts()
    for count in range(1, 341):
        state = update(shifts, series[:, None], count)
    assert state.shifted[0]
    assert abs(state.since[0] - 300) <= 1


def test_less_than_the_least_shift_is_not_a_shift() -> None:
    """Five per cent are not ten, however constant they are."""
    series = noisy(600, 2, spread=0.004)
    series[300:] *= 1.05
    assert shifts_of(series) == []


def test_a_slow_start_does_not_count_as_past_for_long() -> None:
    """Slow first steps do not hide a later shift, and their end is not one."""
    series = noisy(900, 3)
    series[:60] *= 3
    series[700:] *= 1.3
    assert [(count // 100, state) for count, state in shifts_of(series)] == [(7, True)]


def test_a_fast_phase_at_the_start_does_not_count_as_past() -> None:
    """The first ten minutes contain four minutes of faster steps, a report every ten seconds.

    Their end is not a shift, wherever they are.
    """
    begins = range(60)
    series = np.stack([noisy(400, seed, spread=0.004) for seed in begins], axis=1)
    for begin in begins:
        series[begin : begin + 24, begin] *= 0.85
    assert not any(shifts_of_all(series, every=4))


def test_a_shift_outlasts_a_short_past_but_not_a_long_one() -> None:
    """It must last four times as long as the past; once that is forgotten, the new level is the usual one."""
    series = np.stack([noisy(2400, seed, spread=0.004) for seed in (1, 2)], axis=1)
    series[120:, 0] *= 1.3
    series[560:, 1] *= 1.3
    shifts, outlasted = LevelShifts(), []
    for count in range(8, 2401, 8):
        state = update(shifts, series, count)
        if state.outlasted.any():
            outlasted.append((count, np.flatnonzero(state.outlasted).tolist()))
            shifts.forget(np.flatnonzero(state.outlasted))
    assert [places for _, places in outlasted] == [[0]]
    assert 120 + 4 * 96 <= outlasted[0][0] <= 120 + 4 * 120
    assert not state.shifted[0]
    assert state.shift[0] == pytest.approx(0, abs=0.05)
    assert state.shifted[1]


def test_single_slow_reports_between_others_are_not_a_shift() -> None:
    """An evaluation of three reports in every twenty does not change the medians."""
    series = noisy(800, 4)
    for at in range(20, 800, 20):
        series[at : at + 3] *= 4
    assert shifts_of(series) == []


def test_phases_that_come_back_are_reported_once() -> None:
    """An evaluation of forty reports is new the first time; one that lasts much longer is new again."""
    series = noisy(1800, 5)
    for at in (300, 600, 900, 1200):
        series[at : at + 40] *= 2
    series[1500:] *= 2
    found = [count for count, state in shifts_of(series) if state]
    assert len(found) == 2
    assert 300 < found[0] < 325
    assert 1540 < found[1] < 1600


def test_a_slow_drift_below_the_least_shift_becomes_usual() -> None:
    """The usual level follows slow changes of the work; no shift is found on the way."""
    series = noisy(6000, 6, spread=0.005) * np.exp(np.linspace(0, 0.3, 6000))
    assert shifts_of(series, every=2) == []


def test_unknown_reports_are_left_out() -> None:
    """A rank that rarely reports its step time is judged by the reports that it has."""
    series = noisy(400, 7)
    series[300:] *= 1.5
    series[::5] = np.nan
    found = shifts_of(series)
    assert len(found) == 1
    assert 300 < found[0][0] <= 325


@given(st.lists(st.lists(st.none() | st.floats(-1e3, 1e3), min_size=6, max_size=6), min_size=1, max_size=5))
def test_medians_use_the_known_values(rows: list[list[float | None]]) -> None:
    """They equal NumPy's `nanmedian`."""
    values = np.array([[np.nan if value is None else value for value in row] for row in rows])
    some = ~np.isnan(values).all(axis=1)
    np.testing.assert_allclose(medians(values)[some], np.nanmedian(values[some], axis=1))
    assert np.isnan(medians(values)[~some]).all()
