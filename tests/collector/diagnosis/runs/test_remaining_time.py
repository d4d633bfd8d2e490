"""The remaining time of runs."""

import numpy as np
import pytest

from flyball_collector.diagnosis.runs.run_figures import RunFigureTable
from flyball_collector.engine.testing.runs import host, play, step
from flyball_proto.v1 import telemetry_pb2 as pb


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
