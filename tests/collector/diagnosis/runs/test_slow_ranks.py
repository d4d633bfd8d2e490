"""Ranks that became slower than before, and runs in which all ranks did."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from flyball_collector.diagnosis.event import Event
from flyball_collector.engine.player import EPOCH
from flyball_collector.engine.testing.runs import brief, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

KINDS = ("straggler", "fail_slow", "run_slow")

Series = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""Step seconds (report × rank)."""


class PlayedRun(NamedTuple):
    """A run of some ranks that reports for some seconds."""

    ranks: int
    seconds: int
    report: Callable[[int, int], pb.StepReport | None]


def case_of(series: Series, every: int = 1) -> PlayedRun:
    """Return a run with these steps, that reports every `every` seconds. No step ends where one is unknown."""

    def report(rank: int, second: int) -> pb.StepReport | None:
        took = float(series[second // every, rank])
        return None if np.isnan(took) else step(rank, second, took)

    return PlayedRun(series.shape[1], every * len(series), report)


def played_together(cases: Mapping[str, PlayedRun], every: int = 1) -> Mapping[str, list[Event]]:
    """Play runs side by side, which costs little more than one; return the events of each until its last report."""
    places = [(name, rank) for name, case in cases.items() for rank in range(case.ranks)]

    def report(place: int, second: int) -> pb.StepReport | None:
        name, rank = places[place]
        found = cases[name].report(rank, second) if second < cases[name].seconds else None
        if found is not None:
            found.run = name
        return found

    played, _ = play(len(places), range(0, max(case.seconds for case in cases.values()), every), report)
    return {
        name: [each for each in played if each.subject.run == name and each.time_ns // 10**9 - EPOCH < case.seconds]
        for name, case in cases.items()
    }


def times(ranks: int, seconds: int, seed: int = 0) -> Series:
    """Return step seconds (second × rank). The last two ranks are always slower."""
    rng = np.random.default_rng(seed)
    usual = np.where(np.arange(ranks) >= ranks - 2, 0.5, 0.3)
    tail = np.where(rng.random((seconds, ranks)) < 0.01, 4.0, 1.0)
    return usual * np.exp(rng.normal(0, 0.03, (seconds, ranks))) * tail


def slower_and_back() -> PlayedRun:
    series = times(6, 500)
    series[200:350, 1] *= 2.0
    return case_of(series)


def peers_joined_later() -> PlayedRun:
    series = times(6, 700)
    series[300:] *= 1.3
    series[:330, 2:] = np.nan
    return case_of(series)


def drifting() -> PlayedRun:
    series = times(6, 700) * np.exp(0.1 * np.sin(np.arange(700) / 150))[:, None]
    series[400:, 1] *= 1.25
    return case_of(series)


def fast_rank() -> PlayedRun:
    series = times(6, 300)
    series[:, 0] *= 0.2
    series[200:, 0] *= 1.5
    return case_of(series)


def all_slower() -> PlayedRun:
    series = np.repeat(times(3, 800)[:, :1], 4, axis=1)
    series[200:600] *= 1.5
    return case_of(series)


def longer_sequences() -> PlayedRun:
    series = np.repeat(times(3, 400)[:, :1], 4, axis=1)

    def longer(rank: int, second: int) -> pb.StepReport:
        more = 1.4 if second >= 200 else 1.0
        return step(rank, second, more * float(series[second, rank]), tokens=4096 * more)

    return PlayedRun(4, 400, longer)


def alone() -> PlayedRun:
    series = times(3, 600)[:, :1]
    series[200:] *= 1.4
    return case_of(series)


def checkpoints() -> PlayedRun:
    series = times(4, 800)
    for at in range(100, 800, 100):
        series[at : at + 8, 0] *= 3
    return case_of(series)


def slow_as_a_whole() -> PlayedRun:
    series = np.exp(np.random.default_rng(5).normal(0, 0.05, (800, 6)))
    for begin in (60, 400):
        series[begin : begin + 240] *= 1.7
    return case_of(series)


@cache
def each_second() -> Mapping[str, list[Event]]:
    """Play the runs that report each second."""
    cases = (slower_and_back, peers_joined_later, drifting, fast_rank, all_slower, longer_sequences, alone,
             checkpoints, slow_as_a_whole)  # fmt: skip
    return played_together({case.__name__: case() for case in cases})


def test_a_rank_that_became_slower_is_reported_and_cleared() -> None:
    """In a run without synchronous steps it holds up no other rank. A rank that was always slower is not reported."""
    found = brief(each_second()["slower_and_back"], *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [
        ("fail_slow", "raised", 1),
        ("fail_slow", "cleared", 1),
    ]
    assert 203 <= found[0][0] <= 206
    assert 350 + 60 <= found[1][0] <= 350 + 60 + 25


def test_ranks_whose_peers_joined_later_are_not_reported() -> None:
    """All became slower together; ranks that never saw the run faster do not make the others slow."""
    assert brief(each_second()["peers_joined_later"], "straggler", "fail_slow") == []


def test_a_slower_rank_in_a_drifting_run_is_reported() -> None:
    """It is found as soon as elsewhere, and no other rank is reported."""
    found = brief(each_second()["drifting"], *KINDS)
    assert {rank for _, _, _, rank in found} == {1}
    assert [kind for _, kind, state, _ in found if state == "raised"] == ["fail_slow"]
    assert 405 <= found[0][0] <= 430


def test_a_fast_rank_that_slows_down_holds_up_no_other() -> None:
    """It is slower than before, but no slower than its peers."""
    found = brief(each_second()["fast_rank"], *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [("fail_slow", "raised", 0)]


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
    found = brief(each_second()["all_slower"], *KINDS)
    assert [(kind, state) for _, kind, state, _ in found] == [("run_slow", "raised"), ("run_slow", "cleared")]
    assert 500 <= found[0][0] <= 530


def test_longer_sequences_are_more_work_and_not_slowness() -> None:
    """Steps take longer in proportion to their tokens."""
    assert brief(each_second()["longer_sequences"], *KINDS) == []


def test_a_rank_without_peers_is_compared_with_itself() -> None:
    """The confidence is lower, because its work may have changed, and it takes as long as for a run."""
    played = each_second()["alone"]
    ((second, *found),) = brief(played, *KINDS)
    assert found == ["fail_slow", "raised", 0]
    assert 500 <= second <= 530
    (event,) = [event for event in played if event.kind.name == "fail_slow"]
    assert event.confidence <= 0.6
    assert event.evidence["step_ratio"] > 1.3
    assert "instead of" in event.because


def test_occasional_checkpoints_of_a_rank_are_reported_at_most_once() -> None:
    """A phase of eight slow reports in every hundred is known after the first one."""
    found = brief(each_second()["checkpoints"], *KINDS)
    assert [(kind, state, rank) for _, kind, state, rank in found] == [
        ("fail_slow", "raised", 0),
        ("fail_slow", "cleared", 0),
    ]


def first_named(ranks: int, since: int, factor: float, seeds: tuple[int, ...]) -> list[list[tuple[int, int | None]]]:
    """Slow one rank from a report on; return for each seed after how many slow reports ranks are named, and which."""
    cases = {}
    for seed in seeds:
        series = 0.5 * np.exp(np.random.default_rng(seed).normal(0, 0.03, (since + 20, ranks)))
        series[since:, 1] *= factor
        cases[f"seed {seed}"] = case_of(series)
    return [
        [(at - since + 1, rank) for at, kind, state, rank in brief(played, *KINDS) if state == "raised"]
        for played in played_together(cases).values()
    ]


@pytest.mark.parametrize("since", [10, 30, 100])
@pytest.mark.parametrize("ranks", [2, 8])
def test_a_rank_that_is_half_as_fast_again_is_named_within_five_reports(ranks: int, since: int) -> None:
    """This holds from any report on: a young run does not take the start of slowness as usual."""
    for ((reports, rank),) in first_named(ranks, since, 1.55, (1, 2)):
        assert rank == 1
        assert reports <= 5


@pytest.mark.parametrize("since", [30, 100])
def test_a_fifth_slower_rank_is_named_within_twenty_reports(since: int) -> None:
    """A small shift needs more reports than a large one, but no more than twenty."""
    for ((reports, rank),) in first_named(8, since, 1.22, (3, 4)):
        assert rank == 1
        assert 5 < reports <= 20


def test_a_run_that_slows_down_as_a_whole_names_no_rank() -> None:
    """An evaluation of four minutes with a report each second is longer than what a usual step is learnt from."""
    assert brief(each_second()["slow_as_a_whole"], "straggler", "fail_slow") == []


def of_ranks(series: Series, ranks: int = 2) -> PlayedRun:
    """Return a run whose ranks all have the steps of the first column, and report each fifth second."""
    return case_of(np.repeat(series[::5, :1], ranks, axis=1), every=5)


def warm_restart(ranks: int) -> PlayedRun:
    series = times(3, 1500)
    series[480:600] *= 1.6
    series[600:720] = np.nan
    series[720:1100] *= (1 + np.exp(-np.arange(380) / 100))[:, None]
    series[1100:1250] *= 1.3
    return of_ranks(series, ranks)


def began_fast() -> PlayedRun:
    series = times(3, 7000)
    for begin, length in ((0, 600), (4500, 240), (5700, 240)):
        series[begin : begin + length] *= 0.8
    return of_ranks(series)


def two_heights(until: int, seconds: int) -> PlayedRun:
    series = times(3, seconds)
    series[300:500] *= 1.2
    series[500:until] *= 2.0
    return of_ranks(series)


def long_evaluations() -> PlayedRun:
    series = times(3, 5000)
    for begin, length in ((400, 500), (1600, 500), (2800, 1200)):
        series[begin : begin + length] *= 1.5
    return of_ranks(series)


def slow_since_restart() -> PlayedRun:
    series = times(3, 1500)
    series[400:500] = np.nan
    series[500:] *= 1.5
    return of_ranks(series)


def pauses() -> PlayedRun:
    series = times(3, 3500)
    series[np.arange(3500) % 600 >= 530] = np.nan
    series[2500:] *= 1.5
    return of_ranks(series)


@cache
def _each_fifth_second() -> Mapping[str, list[Event]]:
    cases = {
        "warm restart of 1": warm_restart(1),
        "warm restart of 2": warm_restart(2),
        "began fast": began_fast(),
        "passing heights": two_heights(700, 1000),
        "lasting height": two_heights(1200, 1200),
        "long evaluations": long_evaluations(),
        "slow since a restart": slow_since_restart(),
        "pauses": pauses(),
    }
    return played_together(cases, every=5)


def together(name: str) -> list[tuple[int, str, str]]:
    """Return (second, kind, state) of a run that reports each fifth second."""
    return [(second, kind, state) for second, kind, state, _ in brief(_each_fifth_second()[name], *KINDS)]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_restart_with_a_warm_up_is_not_slowness(ranks: int) -> None:
    """An evaluation, a stop of two minutes, slow first steps and another evaluation are long, but each passes."""
    assert together(f"warm restart of {ranks}") == []


HEIGHTS = (0.85, 1.3)


@cache
def evaluated() -> Mapping[str, list[Event]]:
    """Play runs with three evaluations, whose steps take these times as long."""
    cases = {}
    for height in HEIGHTS:
        series = np.exp(np.random.default_rng(4).normal(0, 0.06, (900, 4)))
        for begin in (20, 300, 600):
            series[begin : begin + 24] *= height
        cases[f"to {height}"] = case_of(series, every=10)
    return played_together(cases, every=10)


@pytest.mark.parametrize("height", HEIGHTS)
def test_an_evaluation_of_four_minutes_is_not_slowness(height: float) -> None:
    """With a report every ten seconds and 6 % noise, evaluations and their ends do not count, even in a young run."""
    assert brief(evaluated()[f"to {height}"], *KINDS) == []


def test_a_run_that_began_fast_is_reported_at_most_once() -> None:
    """Once the run has been at its new level for long, that is the usual one, and fast evaluations do not change it."""
    played = together("began fast")
    assert [(kind, state) for _, kind, state in played] == [("run_slow", "raised"), ("run_slow", "cleared")]
    assert played[1][0] <= 3500


def test_slow_phases_of_different_height_are_not_one_slowness() -> None:
    """The time starts again whenever the run becomes much slower or faster."""
    assert together("passing heights") == []
    assert [(kind, state) for _, kind, state in together("lasting height")] == [("run_slow", "raised")]


def test_a_long_evaluation_is_reported_once_a_day() -> None:
    """A phase that passed before is known; if it lasts much longer, it is reported."""
    found = together("long evaluations")
    assert [state for _, _, state in found] == ["raised", "cleared"] * 2
    assert 690 <= found[0][0] <= 730
    assert 2800 + 740 <= found[2][0] <= 2800 + 800


def test_a_run_that_is_slow_since_its_restart_is_reported() -> None:
    """It is reported after the first steps, if it is still slower than before."""
    ((second, kind, state),) = together("slow since a restart")
    assert (kind, state) == ("run_slow", "raised")
    assert 980 <= second <= 1060


def test_a_run_that_reports_nothing_while_it_evaluates_is_still_watched() -> None:
    """Pauses of a minute in every ten are not restarts: slowness between them is reported as soon as usual."""
    ((second, kind, state),) = together("pauses")
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
