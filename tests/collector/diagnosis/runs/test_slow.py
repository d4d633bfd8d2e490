"""Ranks that became slower than they were, and runs in which all did."""

import numpy as np

from flyball_collector.diagnosis.runs.testing import brief, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

KINDS = ("straggler", "fail_slow", "run_slow")


def times(ranks: int, seconds: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Step seconds, second × rank: the last two ranks are always slower."""
    rng = np.random.default_rng(seed)
    usual = np.where(np.arange(ranks) >= ranks - 2, 0.5, 0.3)
    tail = np.where(rng.random((seconds, ranks)) < 0.01, 4.0, 1.0)
    return usual * np.exp(rng.normal(0, 0.03, (seconds, ranks))) * tail


def test_one_that_became_slower_is_told_and_its_recovery_too() -> None:
    """In a run whose ranks go at their own pace; one that always was slower is no news."""
    series = times(6, 500)
    series[200:350, 1] *= 2.0
    told, _ = play(6, range(500), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(told, *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [
        ("straggler", "raised", 1),
        ("fail_slow", "raised", 1),
        ("straggler", "cleared", 1),
        ("fail_slow", "cleared", 1),
    ]
    assert 205 <= found[0][0] <= 225
    assert 350 + 60 <= found[2][0] <= 350 + 60 + 25


def test_a_fast_rank_that_slows_down_holds_nobody_up() -> None:
    """Slower than it was, yet no slower than its peers: fail-slow, no straggler."""
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
    assert [(kind, rank) for _, kind, _, rank in found] == [("straggler", 1), ("fail_slow", 1)]
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
    """With less confidence: its work may have changed."""
    series = times(3, 300)
    series[200:] *= 1.4
    told, _ = play(1, range(300), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert [(kind, rank) for _, kind, _, rank in brief(told, *KINDS)] == [("fail_slow", 0)]
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
