"""The remaining time of runs."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from flyball_collector.diagnosis.runs.run_figures import RunFigures, RunFigureTable
from flyball_collector.engine.testing.runs import host, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

Reports = Callable[[int, int], pb.StepReport | None]


def figures(seconds: range, ended: list[float], total: int) -> RunFigureTable:
    """Return the figures of a run with `total` steps, of which the n-th ended at `ended[n]`."""

    def reports(rank: int, second: int) -> pb.StepReport | None:
        done = int(np.searchsorted(ended, second, side="right"))
        before = int(np.searchsorted(ended, second - seconds.step, side="right"))
        if done == before:
            return None
        return pb.StepReport(run="r", rank=rank, step=done, steps=done - before, step_seconds=0.9 * (done - before))

    member = pb.Member(pid=1, run="r", user="ann", source="client", gpus=["G"], labels={"total_steps": str(total)})
    _, player = play(1, seconds, reports, tenancies={host(0): pb.Tenancy(members=[member])})
    (found,) = [each for each in player.diagnosis.detectors if isinstance(each, RunFigureTable)]
    return found


def test_a_steady_run_ends_as_predicted() -> None:
    """Three hundred of a thousand one-second steps are done; the interval is narrow."""
    (run,) = figures(range(301), [float(n) for n in range(1, 1001)], 1000).figures
    assert (run.run, run.ranks) == ("r", 1)
    assert run.remaining_seconds == pytest.approx(700, abs=15)
    assert run.remaining_low_seconds is not None
    assert run.remaining_high_seconds is not None
    assert 650 <= run.remaining_low_seconds <= run.remaining_seconds <= run.remaining_high_seconds <= 750  # type: ignore[operator]  # known above
    assert run.step_median_seconds == pytest.approx(0.9)


def test_pauses_for_saving_count() -> None:
    """Steps of a second with a pause of sixty seconds after every hundred take 1.6 s each by the clock."""
    ended, at = [], 0.0
    for n in range(1, 2001):
        at += 1.0 + (60.0 if n % 100 == 0 else 0.0)
        ended.append(at)
    (run,) = figures(range(0, 1600, 5), ended, 2000).figures
    truth = ended[-1] - 1595
    assert run.remaining_low_seconds is not None
    assert run.remaining_high_seconds is not None
    assert run.remaining_seconds == pytest.approx(truth, rel=0.15)
    assert run.remaining_low_seconds <= truth <= run.remaining_high_seconds


def test_nine_of_ten_ends_are_in_the_interval() -> None:
    """This is for runs with varying speed, after a third of their steps."""
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pace = np.exp(0.25 * np.repeat(rng.normal(0, 1, 60), 50) + rng.normal(0, 0.1, 3000))
        ended = np.cumsum(pace)
        now = int(ended[1000])
        (run,) = figures(range(0, now, 10), ended.tolist(), 3000).figures
        assert run.remaining_low_seconds is not None
        assert run.remaining_high_seconds is not None
        hits += run.remaining_low_seconds <= ended[-1] - now <= run.remaining_high_seconds
    assert hits >= 8


def test_nothing_is_predicted_without_the_number_of_steps() -> None:
    """The remaining time is unknown."""
    _, player = play(2, range(60), lambda rank, second: step(rank, second, 0.5, data_wait_seconds=0.1))
    (found,) = [each for each in player.diagnosis.detectors if isinstance(each, RunFigureTable)]
    (run,) = found.figures
    assert (run.ranks, run.remaining_seconds) == (2, None)
    assert run.data_wait_ratio == pytest.approx(0.2)


def played(seconds: range, report: Reports, labels: dict[str, str], ranks: int = 1) -> RunFigures:
    """Return the figures of a run whose processes have these labels."""
    member = pb.Member(pid=1, run="r", source="client", labels=labels)
    tenancies = {host(rank): pb.Tenancy(members=[member]) for rank in range(ranks)}
    _, player = play(ranks, seconds, report, tenancies=tenancies)
    (table,) = [each for each in player.diagnosis.detectors if isinstance(each, RunFigureTable)]
    (run,) = table.figures
    return run


def test_the_number_of_samples_is_enough() -> None:
    """Two ranks with 32 samples a step each need a thousand steps for 64,000 samples."""
    report = partial(resumed, first=200)
    run = played(range(100), report, {"total_samples": "64000"}, ranks=2)
    assert run.remaining_seconds == pytest.approx(700, abs=15)
    both = played(range(100), report, {"total_samples": "64000", "total_steps": "500"}, ranks=2)
    assert both.remaining_seconds == pytest.approx(200, abs=15)
    unknown = played(range(100), lambda rank, second: step(rank, second, 0.5), {"total_samples": "64000"})
    assert unknown.remaining_seconds is None


def resumed(_rank: int, second: int, *, first: int) -> pb.StepReport:
    """Report one step a second of a run that was resumed at a step."""
    return pb.StepReport(run="r", rank=_rank, step=first + second, steps=1, step_seconds=0.9, samples=32.0)


@pytest.mark.parametrize("resumes_at", [300, 220])
def test_the_pause_of_a_restart_does_not_count(resumes_at: int) -> None:
    """A new attempt begins at the last step or at an earlier one, ten minutes later, and is as fast as before."""

    def restarts(rank: int, second: int) -> pb.StepReport | None:
        if 300 < second < 900:
            return None
        attempt = int(second >= 900)
        done = resumes_at + second - 899 if attempt else second
        return pb.StepReport(run="r", rank=rank, step=done, steps=1, step_seconds=0.9, attempt=attempt)

    run = played(range(1000), restarts, {"total_steps": "1000"})
    assert run.remaining_seconds == pytest.approx(1000 - (resumes_at + 100), abs=15)
    assert run.remaining_high_seconds is not None
    assert run.remaining_high_seconds < 1.2 * (900 - resumes_at)


def test_a_run_of_half_a_minute_has_a_remaining_time() -> None:
    """After ten seconds of a small fleet; before that too little was seen."""
    report = partial(resumed, first=0)
    assert played(range(12), report, {"total_steps": "30"}).remaining_seconds == pytest.approx(19, abs=3)
    assert played(range(5), report, {"total_steps": "30"}).remaining_seconds is None


def test_a_pause_by_an_adjustment_changes_only_the_end() -> None:
    """A minute of pause is not a part of the speed. In the pause the time left is unknown.

    Afterwards the time left is that of the steps left, with a narrow interval.
    """
    ended = [float(n) + (60.0 if n > 200 else 0.0) for n in range(1, 1001)]

    def reports(rank: int, second: int) -> pb.StepReport:
        done = int(np.searchsorted(ended, second, side="right"))
        made = done - int(np.searchsorted(ended, second - 1, side="right"))
        paused = 1.0 if 200 < second <= 260 else 0.0
        return pb.StepReport(run="r", rank=rank, step=done, steps=made, step_seconds=0.9 * made, paused_seconds=paused)

    member = pb.Member(pid=1, run="r", user="ann", source="client", gpus=["G"], labels={"total_steps": "1000"})
    for last in (230, 258, 290):  # in the pause, and half a minute after it
        _, player = play(1, range(last), reports, tenancies={host(0): pb.Tenancy(members=[member])})
        (table,) = [each for each in player.diagnosis.detectors if isinstance(each, RunFigureTable)]
        (run,) = table.figures
        if last < 260:
            assert run.remaining_seconds is None
            continue
        left = 1000 - int(np.searchsorted(ended, last, side="right"))
        assert run.remaining_seconds == pytest.approx(left, abs=15)
        assert run.remaining_low_seconds is not None
        assert run.remaining_high_seconds is not None
        assert run.remaining_high_seconds - run.remaining_low_seconds < 60
