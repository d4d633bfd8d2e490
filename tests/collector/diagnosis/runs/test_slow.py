"""Ranks that became slower than they were, and runs in which all did."""

import numpy as np
import pytest

from flyball_collector.engine.testing.runs import brief, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

KINDS = ("straggler", "fail_slow", "run_slow")


def times(ranks: int, seconds: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Step seconds, second × rank: the last two ranks are always slower."""
    rng = np.random.default_rng(seed)
    usual = np.where(np.arange(ranks) >= ranks - 2, 0.5, 0.3)
    tail = np.where(rng.random((seconds, ranks)) < 0.01, 4.0, 1.0)
    return usual * np.exp(rng.normal(0, 0.03, (seconds, ranks))) * tail


def test_one_that_became_slower_is_told_and_its_recovery_too() -> None:
    """In a run whose ranks go at their own pace, once: it holds nobody up. One that always was slower is no news."""
    series = times(6, 500)
    series[200:350, 1] *= 2.0
    told, _ = play(6, range(500), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(told, *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [
        ("fail_slow", "raised", 1),
        ("fail_slow", "cleared", 1),
    ]
    assert 205 <= found[0][0] <= 225
    assert 350 + 60 <= found[1][0] <= 350 + 60 + 25


def test_ranks_whose_peers_joined_later_are_not_apart() -> None:
    """All became slower together; those that never saw the run faster do not make the others slow."""
    series = times(6, 700)
    series[300:] *= 1.3

    def report(rank: int, second: int) -> pb.StepReport | None:
        return None if rank >= 2 and second < 330 else step(rank, second, float(series[second, rank]))

    told, _ = play(6, range(700), report)
    assert brief(told, "straggler", "fail_slow") == []


def test_one_that_became_slower_in_a_run_that_drifts_is_told() -> None:
    """As soon as elsewhere, and nobody else is."""
    series = times(6, 700) * np.exp(0.1 * np.sin(np.arange(700) / 150))[:, None]
    series[400:, 1] *= 1.25
    told, _ = play(6, range(700), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(told, *KINDS)
    assert {rank for _, _, _, rank in found} == {1}
    assert [kind for _, kind, state, _ in found if state == "raised"] == ["fail_slow"]
    assert 405 <= found[0][0] <= 430


def test_a_fast_rank_that_slows_down_holds_nobody_up() -> None:
    """Slower than it was, yet no slower than its peers."""
    series = times(6, 300)
    series[:, 0] *= 0.2
    series[200:, 0] *= 1.5
    told, _ = play(6, range(300), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert [(kind, state, rank) for _, kind, state, rank in brief(told, *KINDS)] == [("fail_slow", "raised", 0)]


def test_the_windows_are_the_inputs_whatever_a_second_is() -> None:
    """The same series with a report each ten seconds: told after as many reports."""
    series = times(6, 300)
    series[200:, 1] *= 2.0
    told, _ = play(
        6, range(0, 3000, 10), lambda rank, second: step(rank, second // 10, float(series[second // 10, rank]))
    )
    found = brief(told, *KINDS)
    assert [(kind, rank) for _, kind, _, rank in found] == [("fail_slow", 1)]
    assert 2050 <= found[0][0] <= 2250


def test_all_together_is_the_runs_slowness_and_nobodys_fault() -> None:
    """Equal slow steps without a culprit: the run is slow, no rank."""
    series = np.repeat(times(3, 800)[:, :1], 4, axis=1)
    series[200:600] *= 1.5
    told, _ = play(4, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(told, *KINDS)
    assert [(kind, state) for _, kind, state, _ in found] == [("run_slow", "raised"), ("run_slow", "cleared")]
    assert 500 <= found[0][0] <= 530


def test_longer_sequences_are_more_work_and_no_slowness() -> None:
    """Steps that take as much longer as they have more tokens."""
    series = np.repeat(times(3, 400)[:, :1], 4, axis=1)

    def longer(rank: int, second: int) -> pb.StepReport:
        more = 1.4 if second >= 200 else 1.0
        return step(rank, second, more * float(series[second, rank]), tokens=4096 * more)

    told, _ = play(4, range(400), longer)
    assert brief(told, *KINDS) == []


def test_a_rank_without_peers_is_compared_with_itself() -> None:
    """With less confidence, as its work may have changed, and only when it has lasted as long as for a run."""
    series = times(3, 600)
    series[200:] *= 1.4
    told, _ = play(1, range(600), lambda rank, second: step(rank, second, float(series[second, rank])))
    ((second, *found),) = brief(told, *KINDS)
    assert found == ["fail_slow", "raised", 0]
    assert 500 <= second <= 530
    (event,) = [event for event in told if event.kind.name == "fail_slow"]
    assert event.confidence <= 0.6
    assert event.evidence["step_ratio"] > 1.3
    assert "instead of" in event.because


def test_a_checkpoint_of_a_rank_now_and_then_is_no_slowness() -> None:
    """Ten slow reports in every hundred move no median of twenty."""
    series = times(4, 800)
    for at in range(100, 800, 100):
        series[at : at + 8, 0] *= 3
    told, _ = play(4, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert brief(told, *KINDS) == []


def together(series: np.ndarray[tuple[int], np.dtype[np.float64]], ranks: int = 2) -> list[tuple[int, str, str]]:
    """What is told of a run all of whose ranks take these steps, second by second, and report every fifth second; no
    step ends where it is unknown."""

    def report(rank: int, second: int) -> pb.StepReport | None:
        return None if np.isnan(series[second]) else step(rank, second, float(series[second]))

    told, _ = play(ranks, range(0, len(series), 5), report)
    return [(second, kind, state) for second, kind, state, _ in brief(told, *KINDS)]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_restart_that_warms_up_is_no_slowness(ranks: int) -> None:
    """An evaluation, a stop of two minutes, slow first steps and another evaluation last long, but nothing lasts."""
    series = times(3, 1500)[:, 0]
    series[480:600] *= 1.6
    series[600:720] = np.nan
    series[720:1100] *= 1 + np.exp(-np.arange(380) / 100)
    series[1100:1250] *= 1.3
    assert together(series, ranks) == []


@pytest.mark.parametrize("height", [0.85, 1.3])
def test_an_evaluation_of_four_minutes_is_no_slowness(height: float) -> None:
    """Reports ten seconds apart, steps that scatter by 6 %: neither the evaluation nor its end, nor in a young run."""
    rng = np.random.default_rng(4)
    series = np.exp(rng.normal(0, 0.06, (900, 4)))
    for begin in (20, 300, 600):
        series[begin : begin + 24] *= height
    told, _ = play(4, range(0, 9000, 10), lambda rank, second: step(rank, second, float(series[second // 10, rank])))
    assert brief(told, *KINDS) == []


def test_a_run_that_began_fast_is_told_at_most_once() -> None:
    """When it has been at its pace for long that is usual, and fast evaluations change nothing in that."""
    series = times(3, 7000)[:, 0]
    for begin, length in ((0, 600), (4500, 240), (5700, 240)):
        series[begin : begin + length] *= 0.8
    told = together(series)
    assert [(kind, state) for _, kind, state in told] == [("run_slow", "raised"), ("run_slow", "cleared")]
    assert told[1][0] <= 3500


def test_slow_phases_of_unlike_height_are_not_one_slowness() -> None:
    """The time counts anew whenever the run becomes slower or faster by much."""
    series = times(3, 1000)[:, 0]
    series[300:500] *= 1.2
    series[500:700] *= 2.0
    assert together(series) == []
    series = times(3, 1200)[:, 0]
    series[300:500] *= 1.2
    series[500:] *= 2.0
    assert [(kind, state) for _, kind, state in together(series)] == [("run_slow", "raised")]


def test_a_long_evaluation_is_told_once_a_day() -> None:
    """What has passed by itself is known; when it lasts much longer it is news."""
    series = times(3, 5000)[:, 0]
    for begin, length in ((400, 500), (1600, 500), (2800, 1200)):
        series[begin : begin + length] *= 1.5
    told = together(series)
    assert [state for _, _, state in told] == ["raised", "cleared"] * 2
    assert 690 <= told[0][0] <= 730
    assert 2800 + 740 <= told[2][0] <= 2800 + 800


def test_a_run_that_is_slow_since_its_restart_is_told() -> None:
    """Once the first steps are over, and it still is slower than before."""
    series = times(3, 1500)[:, 0]
    series[400:500] = np.nan
    series[500:] *= 1.5
    ((second, kind, state),) = together(series)
    assert (kind, state) == ("run_slow", "raised")
    assert 980 <= second <= 1060


def test_a_run_that_reports_nothing_while_it_evaluates_is_watched_all_the_same() -> None:
    """Pauses of a minute in every ten are no restarts: what becomes slow between them is told as soon as ever."""
    series = times(3, 3500)[:, 0]
    series[np.arange(3500) % 600 >= 530] = np.nan
    series[2500:] *= 1.5
    ((second, kind, state),) = together(series)
    assert (kind, state) == ("run_slow", "raised")
    assert 2790 <= second <= 2830
