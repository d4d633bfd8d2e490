"""Single steps that repeatedly became slow while most steps are as fast as before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.runs.slow_single_steps import SlowSingleSteps
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.engine.testing.runs import brief, play, step

Excess = np.ndarray[tuple[int], np.dtype[np.float64]]

BLOCK = 8  # reports in each update


def slow_from(excess: Excess) -> list[int]:
    """Return the reports at which a rank became slow or recovered, given the excess of its steps."""
    seen, found, before = SlowSingleSteps(0.12), [], False
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
def test_regular_slow_steps_are_found(every: int, more: float) -> None:
    """They are found once, within some hundred reports of the first."""
    excess = np.zeros(3000)
    excess[400::every] = more
    (report,) = slow_from(excess)
    assert 400 + 24 <= report <= 400 + 136


def test_it_ends_when_single_steps_are_fast_again() -> None:
    """This takes about sixty reports."""
    excess = np.zeros(2000)
    excess[400:1000:3] = 1.2
    _, over = slow_from(excess)
    assert 1000 <= over <= 1064


def test_it_continues_between_the_levels() -> None:
    """The excess is too little to raise it and too much to end it."""
    excess = np.zeros(2000)
    excess[1000::8] = 1.2
    assert slow_from(excess) == []
    excess[400:1000:3] = 1.2
    assert len(slow_from(excess)) == 1


@pytest.mark.parametrize("every", [3, 8])
def test_a_constant_pattern_is_not_reported(every: int) -> None:
    """Some steps were slow from the start."""
    excess = np.zeros(2000)
    excess[::every] = 1.2
    assert slow_from(excess) == []


@pytest.mark.parametrize("share", [0.12, 0.25, 0.35])
@pytest.mark.parametrize("seed", range(4))
def test_random_pauses_of_constant_frequency_are_not_reported(seed: int, share: float) -> None:
    """Some steps take several times as long, sometimes more and sometimes fewer, for days."""
    pauses = np.random.default_rng(seed).random(20_000) < share
    assert slow_from(np.where(pauses, 3.0, 0.0)) == []


@pytest.mark.parametrize("length", [3, 6, 10])
def test_short_phases_are_not_slowness(length: int) -> None:
    """A checkpoint written by one rank adds much to a few reports, and is forgotten before it counts."""
    excess = np.zeros(4000)
    for begin in range(400, 4000, 150):
        excess[begin : begin + length] = 2.0
    assert slow_from(excess) == []


def test_rare_long_steps_that_begin_late_are_not_slowness() -> None:
    """This holds for one step in fifty, however long it is."""
    excess = np.zeros(4000)
    excess[400::50] = 40.0
    assert slow_from(excess) == []


def test_steps_within_their_own_spread_add_nothing() -> None:
    """A quarter more is within the noise if single steps vary by a tenth."""
    seen = SlowSingleSteps(0.12)
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    seen.take(np.array([0]), np.full((8, 1), 0.4), np.array([8]), np.array([0.1]))
    assert seen.added[0] == 0.0


def test_only_new_reports_count() -> None:
    """Reports of earlier updates are not counted again."""
    seen = SlowSingleSteps(0.12)
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    seen.take(np.array([0]), np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([2]), np.array([0.02]))
    assert seen.added[0] == 0.0


@given(st.lists(st.lists(st.floats(-0.5, 50.0), min_size=8, max_size=8), min_size=1, max_size=40))
def test_a_rank_cannot_lose_more_than_its_steps_add(blocks: list[list[float]]) -> None:
    """The added time is always between zero and the usual time."""
    seen = SlowSingleSteps(0.12)
    seen.align(subjects([Subject("h", run="r", rank=0)]))
    for block in blocks:
        seen.take(np.array([0]), np.array([block]).T, np.array([8]), np.array([0.01]))
        assert 0.0 <= seen.added[0] <= 1.0
        assert 0.0 <= seen.usual[0] <= 1.0


def test_the_rank_and_its_loss_are_reported() -> None:
    """It is reported once; a later slowdown of all ranks is not the fault of one."""
    series = 0.8 * np.exp(np.random.default_rng(3).normal(0, 0.02, (800, 3)))
    series[300::3, 1] *= 2.0
    series[600::3, [0, 2]] *= 2.0
    played, _ = play(3, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert [(state, rank) for _, _, state, rank in brief(played, "straggler", "fail_slow", "run_slow")] == [
        ("raised", 1),
        ("cleared", 1),
    ]
    event = next(event for event in played if event.kind.name == "fail_slow")
    assert "repeatedly" in event.because
    assert 1.1 <= event.evidence["step_ratio"] <= 1.4
    assert event.evidence["step_seconds"] == pytest.approx(0.8, rel=0.05)


def test_a_condition_stays_active_while_peers_are_away() -> None:
    """Without peers to compare with, nothing is proved."""
    series = 0.8 * np.exp(np.random.default_rng(3).normal(0, 0.02, (620, 2)))
    series[250::3, 1] *= 2.2
    played, _ = play(
        2,
        range(len(series)),
        lambda rank, second: None if rank == 0 and second > 480 else step(rank, second, float(series[second, rank])),
    )
    assert [(kind, state) for _, kind, state, _ in brief(played, "fail_slow")] == [("fail_slow", "raised")]
