"""Ranks that became slower than before, and runs in which all ranks did."""

import numpy as np
import pytest

from flyball_collector.engine.testing.runs import brief, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

KINDS = ("straggler", "fail_slow", "run_slow")


def times(ranks: int, seconds: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return step seconds (second × rank). The last two ranks are always slower."""
    rng = np.random.default_rng(seed)
    usual = np.where(np.arange(ranks) >= ranks - 2, 0.5, 0.3)
    tail = np.where(rng.random((seconds, ranks)) < 0.01, 4.0, 1.0)
    return usual * np.exp(rng.normal(0, 0.03, (seconds, ranks))) * tail


def test_a_rank_that_became_slower_is_reported_and_cleared() -> None:
    """In a run without synchronous steps it holds up no other rank. A rank that was always slower is not reported."""
    series = times(6, 500)
    series[200:350, 1] *= 2.0
    played, _ = play(6, range(500), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(played, *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [
        ("fail_slow", "raised", 1),
        ("fail_slow", "cleared", 1),
    ]
    assert 203 <= found[0][0] <= 206
    assert 350 + 60 <= found[1][0] <= 350 + 60 + 25


def test_ranks_whose_peers_joined_later_are_not_reported() -> None:
    """All became slower together; ranks that never saw the run faster do not make the others slow."""
    series = times(6, 700)
    series[300:] *= 1.3

    def report(rank: int, second: int) -> pb.StepReport | None:
        return None if rank >= 2 and second < 330 else step(rank, second, float(series[second, rank]))

    played, _ = play(6, range(700), report)
    assert brief(played, "straggler", "fail_slow") == []


def test_a_slower_rank_in_a_drifting_run_is_reported() -> None:
    """It is found as soon as elsewhere, and no other rank is reported."""
    series = times(6, 700) * np.exp(0.1 * np.sin(np.arange(700) / 150))[:, None]
    series[400:, 1] *= 1.25
    played, _ = play(6, range(700), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(played, *KINDS)
    assert {rank for _, _, _, rank in found} == {1}
    assert [kind for _, kind, state, _ in found if state == "raised"] == ["fail_slow"]
    assert 405 <= found[0][0] <= 430


def test_a_fast_rank_that_slows_down_holds_up_no_other() -> None:
    """It is slower than before, but no slower than its peers."""
    series = times(6, 300)
    series[:, 0] *= 0.2
    series[200:, 0] *= 1.5
    played, _ = play(6, range(300), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert [(kind, state, rank) for _, kind, state, rank in brief(played, *KINDS)] == [("fail_slow", "raised", 0)]


def test_windows_are_counted_in_reports() -> None:
    """The same series with a report every ten seconds is reported after as many reports."""
    series = times(6, 300)
    series[200:, 1] *= 2.0
    played, _ = play(
        6, range(0, 3000, 10), lambda rank, second: step(rank, second // 10, float(series[second // 10, rank]))
    )
    found = brief(played, *KINDS)
    assert [(kind, rank) for _, kind, _, rank in found] == [("fail_slow", 1)]
    assert 2030 <= found[0][0] <= 2060


def test_if_all_ranks_slow_down_the_run_is_slow() -> None:
    """Equally slow steps without a single cause: the run is slow, not a rank."""
    series = np.repeat(times(3, 800)[:, :1], 4, axis=1)
    series[200:600] *= 1.5
    played, _ = play(4, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    found = brief(played, *KINDS)
    assert [(kind, state) for _, kind, state, _ in found] == [("run_slow", "raised"), ("run_slow", "cleared")]
    assert 500 <= found[0][0] <= 530


def test_longer_sequences_are_more_work_and_not_slowness() -> None:
    """Steps take longer in proportion to their tokens."""
    series = np.repeat(times(3, 400)[:, :1], 4, axis=1)

    def longer(rank: int, second: int) -> pb.StepReport:
        more = 1.4 if second >= 200 else 1.0
        return step(rank, second, more * float(series[second, rank]), tokens=4096 * more)

    played, _ = play(4, range(400), longer)
    assert brief(played, *KINDS) == []


def test_a_rank_without_peers_is_compared_with_itself() -> None:
    """The confidence is lower, because its work may have changed, and it takes as long as for a run."""
    series = times(3, 600)
    series[200:] *= 1.4
    played, _ = play(1, range(600), lambda rank, second: step(rank, second, float(series[second, rank])))
    ((second, *found),) = brief(played, *KINDS)
    assert found == ["fail_slow", "raised", 0]
    assert 500 <= second <= 530
    (event,) = [event for event in played if event.kind.name == "fail_slow"]
    assert event.confidence <= 0.6
    assert event.evidence["step_ratio"] > 1.3
    assert "instead of" in event.because


def test_occasional_checkpoints_of_a_rank_are_reported_at_most_once() -> None:
    """A phase of eight slow reports in every hundred is known after the first one."""
    series = times(4, 800)
    for at in range(100, 800, 100):
        series[at : at + 8, 0] *= 3
    played, _ = play(4, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert [(kind, state, rank) for _, kind, state, rank in brief(played, *KINDS)] == [
        ("fail_slow", "raised", 0),
        ("fail_slow", "cleared", 0),
    ]


def first_named(ranks: int, since: int, factor: float, seed: int, noise: float = 0.03) -> list[tuple[int, int | None]]:
    """Slow one rank from a report on; return after how many slow reports ranks are named, and which."""
    rng = np.random.default_rng(seed)
    series = 0.5 * np.exp(rng.normal(0, noise, (since + 20, ranks)))
    series[since:, 1] *= factor
    played, _ = play(ranks, range(len(series)), lambda rank, second: step(rank, second, float(series[second, rank])))
    return [(at - since + 1, rank) for at, kind, state, rank in brief(played, *KINDS) if state == "raised"]


@pytest.mark.parametrize("since", [10, 30, 100])
@pytest.mark.parametrize("ranks", [2, 8])
def test_a_rank_that_is_half_as_fast_again_is_named_within_five_reports(ranks: int, since: int) -> None:
    """This holds from any report on: a young run does not take the start of slowness as usual."""
    for seed in (1, 2):
        ((reports, rank),) = first_named(ranks, since, 1.55, seed)
        assert rank == 1
        assert reports <= 5


@pytest.mark.parametrize("since", [30, 100])
def test_a_fifth_slower_rank_is_named_within_twenty_reports(since: int) -> None:
    """A small shift needs more reports than a large one, but no more than twenty."""
    for seed in (3, 4):
        ((reports, rank),) = first_named(8, since, 1.22, seed)
        assert rank == 1
        assert 5 < reports <= 20


def test_a_run_that_slows_down_as_a_whole_names_no_rank() -> None:
    """An evaluation of four minutes with a report each second is longer than what a usual step is learnt from."""
    rng = np.random.default_rng(5)
    series = np.exp(rng.normal(0, 0.05, (800, 6)))
    for begin in (60, 400):
        series[begin : begin + 240] *= 1.7
    played, _ = play(6, range(800), lambda rank, second: step(rank, second, float(series[second, rank])))
    assert brief(played, "straggler", "fail_slow") == []


def together(series: np.ndarray[tuple[int], np.dtype[np.float64]], ranks: int = 2) -> list[tuple[int, str, str]]:
    """Play a run with these steps on all ranks, reporting every fifth second; return (second, kind, state).

    No step ends in seconds that are unknown.
    """

    def report(rank: int, second: int) -> pb.StepReport | None:
        return None if np.isnan(series[second]) else step(rank, second, float(series[second]))

    played, _ = play(ranks, range(0, len(series), 5), report)
    return [(second, kind, state) for second, kind, state, _ in brief(played, *KINDS)]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_restart_with_a_warm_up_is_not_slowness(ranks: int) -> None:
    """An evaluation, a stop of two minutes, slow first steps and another evaluation are long, but each passes."""
    series = times(3, 1500)[:, 0]
    series[480:600] *= 1.6
    series[600:720] = np.nan
    series[720:1100] *= 1 + np.exp(-np.arange(380) / 100)
    series[1100:1250] *= 1.3
    assert together(series, ranks) == []


@pytest.mark.parametrize("height", [0.85, 1.3])
def test_an_evaluation_of_four_minutes_is_not_slowness(height: float) -> None:
    """With a report every ten seconds and 6 % noise, evaluations and their ends do not count, even in a young run."""
    rng = np.random.default_rng(4)
    series = np.exp(rng.normal(0, 0.06, (900, 4)))
    for begin in (20, 300, 600):
        series[begin : begin + 24] *= height
    played, _ = play(4, range(0, 9000, 10), lambda rank, second: step(rank, second, float(series[second // 10, rank])))
    assert brief(played, *KINDS) == []


def test_a_run_that_began_fast_is_reported_at_most_once() -> None:
    """Once the run has been at its new level for long, that is the usual one, and fast evaluations do not change it."""
    series = times(3, 7000)[:, 0]
    for begin, length in ((0, 600), (4500, 240), (5700, 240)):
        series[begin : begin + length] *= 0.8
    played = together(series)
    assert [(kind, state) for _, kind, state in played] == [("run_slow", "raised"), ("run_slow", "cleared")]
    assert played[1][0] <= 3500


def test_slow_phases_of_different_height_are_not_one_slowness() -> None:
    """The time starts again whenever the run becomes much slower or faster."""
    series = times(3, 1000)[:, 0]
    series[300:500] *= 1.2
    series[500:700] *= 2.0
    assert together(series) == []
    series = times(3, 1200)[:, 0]
    series[300:500] *= 1.2
    series[500:] *= 2.0
    assert [(kind, state) for _, kind, state in together(series)] == [("run_slow", "raised")]


def test_a_long_evaluation_is_reported_once_a_day() -> None:
    """A phase that passed before is known; if it lasts much longer, it is reported."""
    series = times(3, 5000)[:, 0]
    for begin, length in ((400, 500), (1600, 500), (2800, 1200)):
        series[begin : begin + length] *= 1.5
    found = together(series)
    assert [state for _, _, state in found] == ["raised", "cleared"] * 2
    assert 690 <= found[0][0] <= 730
    assert 2800 + 740 <= found[2][0] <= 2800 + 800


def test_a_run_that_is_slow_since_its_restart_is_reported() -> None:
    """It is reported after the first steps, if it is still slower than before."""
    series = times(3, 1500)[:, 0]
    series[400:500] = np.nan
    series[500:] *= 1.5
    ((second, kind, state),) = together(series)
    assert (kind, state) == ("run_slow", "raised")
    assert 980 <= second <= 1060


def test_a_run_that_reports_nothing_while_it_evaluates_is_still_watched() -> None:
    """Pauses of a minute in every ten are not restarts: slowness between them is reported as soon as usual."""
    series = times(3, 3500)[:, 0]
    series[np.arange(3500) % 600 >= 530] = np.nan
    series[2500:] *= 1.5
    ((second, kind, state),) = together(series)
    assert (kind, state) == ("run_slow", "raised")
    assert 2790 <= second <= 2830


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_change_on_purpose_is_not_a_fault(ranks: int) -> None:
    """Steps that are longer since an adjustment are not compared with those before; those of another run are."""
    series = times(ranks, 580, seed=3)
    series[200:] *= 1.5

    def report(rank: int, second: int) -> pb.StepReport:
        return step(rank % ranks, second, float(series[second, rank % ranks]), run="r" if rank < ranks else "other")

    played, _ = play(2 * ranks, range(580), report, changes={201: "r"})
    assert {(event.subject.run, event.kind.name) for event in played if event.kind.name in KINDS} == {
        ("other", "fail_slow" if ranks == 1 else "run_slow")
    }


def test_a_rank_that_becomes_slower_after_a_change_is_reported() -> None:
    """The past begins again with the change, and is known again a minute later."""
    series = times(4, 340)
    series[200:] *= 0.5
    series[300:, 1] *= 1.5
    played, _ = play(4, range(340), lambda rank, second: step(rank, second, float(series[second, rank])),
                     changes={201: "r"})  # fmt: skip
    found = brief(played, *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [("fail_slow", "raised", 1)]
    assert 303 <= found[0][0] <= 306


def test_a_slow_rank_stays_reported_over_a_change() -> None:
    """A change of all ranks does not repair the one that is slower than its peers."""
    series = times(4, 460)
    series[200:, 1] *= 2.0
    series[260:] *= 1.2
    played, _ = play(4, range(460), lambda rank, second: step(rank, second, float(series[second, rank])),
                     changes={261: "r"})  # fmt: skip
    found = brief(played, *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [("fail_slow", "raised", 1)]
