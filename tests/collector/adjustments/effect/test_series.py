"""The samples that the effect of an adjustment is measured on."""

import pytest

from flyball_collector.adjustments.effect.series import RunSeries
from flyball_collector.fleet.run_steps import RankSteps, RunSteps, StepFigures

SECOND = 10**9


def rank(number: int, steps: int, seconds: float, *, attempt: int = 0, tokens: float | None = None) -> RankSteps:
    """Return a rank with these sums since its first report."""
    overall = StepFigures(steps=steps, step_seconds=seconds / steps if steps else None, tokens=tokens)
    return RankSteps(
        rank=number, host="node-1", pid=1, world_size=2, attempt=attempt, step=steps, at_ns=steps * SECOND,
        received_ns=steps * SECOND, loss=1.0, bad_losses=0, allocated_peak_bytes=None, reserved_peak_bytes=None,
        dropped=0, recent=overall, overall=overall,
    )  # fmt: skip


def run(*ranks: RankSteps) -> RunSteps:
    """Return a run of these ranks."""
    return RunSteps("r", ranks[0].attempt, ranks, StepFigures(), StepFigures())


def test_a_sample_has_the_steps_since_the_last_one() -> None:
    """Its step time is the mean over the ranks, its tokens are those of all ranks in a step."""
    series = RunSeries()
    series.take(run(rank(0, 10, 2.0, tokens=1000), rank(1, 10, 2.0, tokens=1000)))
    assert len(series.samples) == 0
    series.take(run(rank(0, 15, 3.0, tokens=1500), rank(1, 15, 4.0, tokens=2000)))
    (sample,) = series.samples
    assert (sample.step, sample.steps) == (15, 5)
    assert sample.step_seconds == (1.0 / 5 + 2.0 / 5) / 2
    assert sample.tokens == 100 + 200
    assert sample.finite


def test_a_sample_waits_for_all_ranks() -> None:
    """While one rank has not reported more steps, there is no sample; then it has all of them."""
    series = RunSeries()
    series.take(run(rank(0, 10, 2.0), rank(1, 10, 2.0)))
    series.take(run(rank(0, 15, 3.0), rank(1, 10, 2.0)))
    assert len(series.samples) == 0
    series.take(run(rank(0, 20, 4.0), rank(1, 20, 4.0)))
    (sample,) = series.samples
    assert (sample.step, sample.steps, sample.tokens) == (20, 10, None)


def test_samples_are_before_or_after_a_change() -> None:
    """A sample with steps on both sides of the change belongs to neither."""
    series = RunSeries()
    for steps in (0, 10, 20, 30, 40):
        series.take(run(rank(0, steps, 0.1 * steps)))
    assert [each.step for each in series.before(25)] == [10, 20]
    assert [each.step for each in series.after(25)] == [40]
    assert [each.step for each in series.before(20)] == [10, 20]
    assert [each.step for each in series.after(20)] == [30, 40]


def test_samples_before_an_earlier_change_do_not_count() -> None:
    """The steps before the second change begin with the first one."""
    series = RunSeries()
    for steps in (0, 10, 20, 30, 40, 50):
        series.take(run(rank(0, steps, 0.1 * steps)))
    series.changed(25)
    series.changed(40)
    assert [each.step for each in series.before(25)] == [10, 20]
    assert [each.step for each in series.before(40)] == [40]
    assert [each.step for each in series.after(40)] == [50]


def test_the_recent_duration_of_a_step_begins_with_the_last_change() -> None:
    """Steps before a change and on both sides of it do not count, and those after it only when there are enough."""
    series, seconds, known = RunSeries(), 0.0, []
    for steps in range(0, 70, 10):
        seconds += 10 * (0.1 if steps <= 30 else 0.5)
        series.take(run(rank(0, steps, seconds)))
        known.append(series.recent_step_seconds())
        if steps == 30:
            series.changed(30)
            assert series.recent_step_seconds() is None
    assert known[:3] == [None, None, None]
    assert [known[3], known[5]] == pytest.approx([0.1, 0.5])  # three short reports; two with steps of ten seconds
    assert known[4] is None


def test_the_shorter_of_the_newest_and_the_mean_step_counts() -> None:
    """One long step, such as a checkpoint, does not bring an offer's step too close."""
    series, seconds = RunSeries(), 0.0
    for steps in range(10, 70, 10):
        seconds += 10 * (0.1 if steps < 60 else 3.0)
        series.take(run(rank(0, steps, seconds)))
    assert series.recent_step_seconds() == pytest.approx((4 * 0.1 + 3.0) / 5)


def test_another_attempt_or_other_ranks_begin_again() -> None:
    """Steps of an earlier start, or of ranks whose sums began again, are not mixed with newer ones."""
    series = RunSeries()
    for steps in (10, 20):
        series.take(run(rank(0, steps, 0.1 * steps)))
    assert len(series.samples) == 1
    series.take(run(rank(0, 5, 0.5)))  # the collector has forgotten the rank meanwhile
    assert len(series.samples) == 1
    series.take(run(rank(0, 10, 1.0)))
    assert [each.steps for each in series.samples] == [10, 5]
    series.take(run(rank(0, 15, 1.0, attempt=1)))
    assert series.samples == ()


def test_only_the_latest_samples_are_kept() -> None:
    """The memory of a run is limited."""
    series = RunSeries(kept=3)
    for steps in range(1, 10):
        series.take(run(rank(0, steps, 0.1 * steps)))
    assert [each.step for each in series.samples] == [7, 8, 9]
