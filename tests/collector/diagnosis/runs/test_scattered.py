"""Single steps that became slow, again and again, while most are as fast as ever."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.runs.scattered import Scattered
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.engine.testing.runs import brief, play, step

Excess = np.ndarray[tuple[int], np.dtype[np.float64]]

BLOCK = 8  # reports a look


def slow_from(excess: Excess) -> list[int]:
    """The reports at which a rank became slow, or was not any more, by what its steps take beyond the usual."""
    seen, found, before = Scattered(0.12), [], False
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    for first in range(0, len(excess), BLOCK):
        block = excess[first : first + BLOCK, None]
        seen.take(np.array([0]), block, np.array([len(block)]), np.array([0.02]))
        slow = bool(seen.judge(seen.beyond())[0])
        if slow is not before:
            found.append(first + len(block))
        before = slow
    return found


@pytest.mark.parametrize(("every", "more"), [(3, 1.2), (3, 0.6), (4, 2.0), (5, 5.0)])
def test_every_few_steps_that_became_slow_are_found(every: int, more: float) -> None:
    """Once, within some hundred reports of the first."""
    excess = np.zeros(3000)
    excess[400::every] = more
    (report,) = slow_from(excess)
    assert 400 + 24 <= report <= 400 + 136


def test_it_is_over_when_single_steps_are_fast_again() -> None:
    """Within some sixty reports."""
    excess = np.zeros(2000)
    excess[400:1000:3] = 1.2
    _, over = slow_from(excess)
    assert 1000 <= over <= 1064


def test_what_is_nearly_over_goes_on() -> None:
    """Too little to be told by itself, and too much to be over."""
    excess = np.zeros(2000)
    excess[1000::8] = 1.2
    assert slow_from(excess) == []
    excess[400:1000:3] = 1.2
    assert len(slow_from(excess)) == 1


@pytest.mark.parametrize("every", [3, 8])
def test_what_a_rank_always_did_is_no_news(every: int) -> None:
    """Some of its steps were slow from the first on."""
    excess = np.zeros(2000)
    excess[::every] = 1.2
    assert slow_from(excess) == []


@pytest.mark.parametrize("share", [0.12, 0.25, 0.35])
@pytest.mark.parametrize("seed", range(4))
def test_pauses_at_random_are_no_news_when_they_come_as_often_as_ever(seed: int, share: float) -> None:
    """Some steps take several times as long, now more often, now less, for days."""
    pauses = np.random.default_rng(seed).random(20_000) < share
    assert slow_from(np.where(pauses, 3.0, 0.0)) == []


@pytest.mark.parametrize("length", [3, 6, 10])
def test_short_phases_are_no_slowness(length: int) -> None:
    """A checkpoint that a rank writes alone adds much to a few reports, and is forgotten before it counts."""
    excess = np.zeros(4000)
    for begin in range(400, 4000, 150):
        excess[begin : begin + length] = 2.0
    assert slow_from(excess) == []


def test_rare_long_steps_that_begin_late_are_no_slowness() -> None:
    """However long: one in fifty."""
    excess = np.zeros(4000)
    excess[400::50] = 40.0
    assert slow_from(excess) == []


def test_steps_within_their_own_spread_add_nothing() -> None:
    """A quarter more is nothing where single steps scatter by a tenth."""
    seen = Scattered(0.12)
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    seen.take(np.array([0]), np.full((8, 1), 0.4), np.array([8]), np.array([0.1]))
    assert seen.added[0] == 0.0


def test_only_new_reports_count() -> None:
    """Those that were looked at before are not counted again."""
    seen = Scattered(0.12)
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    seen.take(np.array([0]), np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([2]), np.array([0.02]))
    assert seen.added[0] == 0.0


@given(st.lists(st.lists(st.floats(-0.5, 50.0), min_size=8, max_size=8), min_size=1, max_size=40))
def test_no_rank_is_told_to_lose_more_than_its_steps_can_add(blocks: list[list[float]]) -> None:
    """What is added lies between nothing and as much again, whatever comes."""
    seen = Scattered(0.12)
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    for block in blocks:
        seen.take(np.array([0]), np.array([block]).T, np.array([8]), np.array([0.01]))
        assert 0.0 <= seen.added[0] <= 1.0
        assert 0.0 <= seen.usual[0] <= 1.0


def test_of_a_run_the_rank_is_told_and_what_it_loses() -> None:
    """By its run's events, once; what all ranks do afterwards is nobody's fault."""
    series = 0.8 * np.exp(np.random.default_rng(3).normal(0, 0.02, (800, 3)))
    series[300::3, 1] *= 2.0
    series[600::3, [0, 2]] *= 2.0
    told, _ = play(3, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert [(state, rank) for _, _, state, rank in brief(told, "straggler", "fail_slow", "run_slow")] == [
        ("raised", 1),
        ("cleared", 1),
    ]
    event = next(event for event in told if event.kind.name == "fail_slow")
    assert "again and again" in event.because
    assert 1.1 <= event.evidence["step_ratio"] <= 1.4
    assert event.evidence["step_seconds"] == pytest.approx(0.8, rel=0.05)


def test_while_its_peers_are_away_what_was_told_stands() -> None:
    """Nobody to compare with proves nothing."""
    series = 0.8 * np.exp(np.random.default_rng(3).normal(0, 0.02, (620, 2)))
    series[250::3, 1] *= 2.2
    told, _ = play(
        2,
        range(len(series)),
        lambda rank, second: None if rank == 0 and second > 480 else step(rank, second, float(series[second, rank])),
    )
    assert [(kind, state) for _, kind, state, _ in brief(told, "fail_slow")] == [("fail_slow", "raised")]
