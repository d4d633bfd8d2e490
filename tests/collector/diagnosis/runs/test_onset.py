"""When a series of step times moved to a higher level."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.onset import REPORTS, Moved, Onsets, medians
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects


def look(onsets: Onsets, series: NDArray[np.float64], count: int, seconds: float = 1.0) -> Moved:
    """The latest reports of each series (report × series) when it has `count`."""
    many = series.shape[1]
    onsets.fresh(_named(many), np.full(many, count))
    latest = np.full((REPORTS, many), np.nan)
    some = np.log(series[max(0, count - REPORTS) : count])
    latest[REPORTS - len(some) :] = some
    times = np.repeat((np.arange(count - REPORTS, count) * seconds)[:, None], many, axis=1)
    return onsets.look(np.arange(many), np.full(many, count), times, latest)


@cache
def _named(many: int) -> Subjects:
    return subjects([Subject(run="r", rank=rank) for rank in range(many)])


def moves_of_all(series: NDArray[np.float64], every: int = 1) -> list[list[tuple[int, bool]]]:
    """For each series: after how many reports it was taken to have moved, and to be back."""
    onsets, stands = Onsets(), np.zeros(series.shape[1], dtype=bool)
    told: list[list[tuple[int, bool]]] = [[] for _ in stands]
    for count in range(1, len(series) + 1, every):
        moved = look(onsets, series, count).moved
        for place in np.flatnonzero(moved != stands):
            told[place].append((count, bool(moved[place])))
        stands = moved
    return told


def moves(series: NDArray[np.float64], every: int = 1) -> list[tuple[int, bool]]:
    """The same of one."""
    return moves_of_all(series[:, None], every)[0]


def noisy(length: int, seed: int, spread: float = 0.03, level: float = 0.2) -> NDArray[np.float64]:
    """Step times with a heavy tail and slow wandering, as they are."""
    rng = np.random.default_rng(seed)
    wander = np.zeros(length)
    for at in range(1, length):
        wander[at] = 0.9 * wander[at - 1] + rng.normal(0, spread / 4)
    series: NDArray[np.float64] = level * np.exp(rng.normal(0, spread, length) + wander)
    outliers = rng.random(length) < 0.02
    series[outliers] *= rng.uniform(1.5, 8, np.count_nonzero(outliers))
    return series


@pytest.mark.parametrize("spread", [0.005, 0.03, 0.06])
def test_noise_and_outliers_are_no_move(spread: float) -> None:
    """Of three hundred series whose level stays, none is ever called moved."""
    series = np.stack([noisy(600, seed, spread) for seed in range(300)], axis=1)
    assert not any(moves_of_all(series, every=4))


@pytest.mark.parametrize("ratio", [1.25, 1.6, 5.0])
def test_a_move_is_seen_soon_and_its_end_too(ratio: float) -> None:
    """Within some twenty reports after it began and after it ended; the past is not forgotten meanwhile."""
    series = np.stack([noisy(1200, seed) for seed in range(100)], axis=1)
    series[300:900] *= ratio
    for told in moves_of_all(series):
        assert [moved for _, moved in told] == [True, False]
        assert 300 < told[0][0] <= 325
        assert 900 < told[1][0] <= 925


def test_a_move_tells_when_it_began_and_by_how_much() -> None:
    """To within some reports, and some hundredths."""
    series = noisy(400, 1)
    series[300:] *= 1.5
    onsets = Onsets()
    for count in range(1, 341):
        moved = look(onsets, series[:, None], count, seconds=10.0)
    assert moved.moved[0]
    assert abs(moved.since[0] - 3000) <= 40
    assert abs(moved.reports[0] - 40) <= 4
    assert moved.shift[0] == pytest.approx(np.log(1.5), abs=0.05)
    assert np.exp(moved.usual[0]) == pytest.approx(0.2, rel=0.05)


def test_a_lone_slow_report_is_not_where_a_move_began() -> None:
    """A checkpoint shortly before it does not make it older than it is."""
    series = noisy(340, 8, spread=0.005)
    series[290] *= 4
    series[300:] *= 1.5
    onsets = Onsets()
    for count in range(1, 341):
        moved = look(onsets, series[:, None], count)
    assert moved.moved[0]
    assert abs(moved.since[0] - 300) <= 1


def test_less_than_the_least_shift_is_no_move() -> None:
    """Five per cent are not ten, however steady they are."""
    series = noisy(600, 2, spread=0.004)
    series[300:] *= 1.05
    assert moves(series) == []


def test_a_slow_beginning_is_no_past_for_long() -> None:
    """Slow first steps do not hide a later move, and their end is none."""
    series = noisy(900, 3)
    series[:60] *= 3
    series[700:] *= 1.3
    assert [(count // 100, moved) for count, moved in moves(series)] == [(7, True)]


def test_a_fast_phase_at_the_beginning_is_no_past() -> None:
    """Four minutes of faster steps, a report each ten seconds, wherever they lie in the first ten: their end is no
    move."""
    begins = range(60)
    series = np.stack([noisy(400, seed, spread=0.004) for seed in begins], axis=1)
    for begin in begins:
        series[begin : begin + 24, begin] *= 0.85
    assert not any(moves_of_all(series, every=4))


def test_a_move_outlasts_a_short_past_and_no_long_one() -> None:
    """Four times as long as the past is; once that is forgotten the level of today is usual."""
    series = np.stack([noisy(2400, seed, spread=0.004) for seed in (1, 2)], axis=1)
    series[120:, 0] *= 1.3
    series[560:, 1] *= 1.3
    onsets, outlasted = Onsets(), []
    for count in range(8, 2401, 8):
        moved = look(onsets, series, count)
        if moved.outlasted.any():
            outlasted.append((count, np.flatnonzero(moved.outlasted).tolist()))
            onsets.forget(np.flatnonzero(moved.outlasted))
    assert [places for _, places in outlasted] == [[0]]
    assert 120 + 4 * 96 <= outlasted[0][0] <= 120 + 4 * 120
    assert not moved.moved[0]
    assert moved.shift[0] == pytest.approx(0, abs=0.05)
    assert moved.moved[1]


def test_single_slow_reports_between_others_are_no_move() -> None:
    """An evaluation of three reports in every twenty moves no median."""
    series = noisy(800, 4)
    for at in range(20, 800, 20):
        series[at : at + 3] *= 4
    assert moves(series) == []


def test_phases_that_come_back_are_told_once() -> None:
    """An evaluation of forty reports is news the first time; one that lasts much longer is news again."""
    series = noisy(1800, 5)
    for at in (300, 600, 900, 1200):
        series[at : at + 40] *= 2
    series[1500:] *= 2
    told = [count for count, moved in moves(series) if moved]
    assert len(told) == 2
    assert 300 < told[0] < 325
    assert 1540 < told[1] < 1600


def test_a_slow_drift_just_below_the_least_shift_becomes_usual() -> None:
    """What is usual follows slow changes of the work; no move is told on the way."""
    series = noisy(6000, 6, spread=0.005) * np.exp(np.linspace(0, 0.3, 6000))
    assert moves(series, every=2) == []


def test_unknown_reports_are_left_out() -> None:
    """A rank that seldom says how long its steps took is judged by those that it said."""
    series = noisy(400, 7)
    series[300:] *= 1.5
    series[::5] = np.nan
    told = moves(series)
    assert len(told) == 1
    assert 300 < told[0][0] <= 325


@given(st.lists(st.lists(st.none() | st.floats(-1e3, 1e3), min_size=6, max_size=6), min_size=1, max_size=5))
def test_medians_are_those_of_what_is_known(rows: list[list[float | None]]) -> None:
    """As `nanmedian` has it."""
    values = np.array([[np.nan if value is None else value for value in row] for row in rows])
    some = ~np.isnan(values).all(axis=1)
    np.testing.assert_allclose(medians(values)[some], np.nanmedian(values[some], axis=1))
    assert np.isnan(medians(values)[~some]).all()
