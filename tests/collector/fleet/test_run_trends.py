"""Points of runs for charts."""

import math

import numpy as np
import pytest

from flyball_collector.fleet.ranks import Ranks
from flyball_collector.fleet.run_trends import KEPT_SECONDS, MAX_BYTES, MAX_RUNS, POINT_SECONDS, POINTS, RunTrends
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9
START = 1_900_000_000


class Trainings:
    """Runs that report, and their points."""

    def __init__(self, max_runs: int = MAX_RUNS) -> None:
        self.ranks = Ranks()
        self.trends = RunTrends(max_runs)

    def report(self, second: float, run: str = "r", rank: int = 0, **fields: object) -> None:
        """Add a report of four steps."""
        given = {"steps": 4, "step_seconds": 1.0, "step": int(second)} | fields
        report = pb.StepReport(run=run, rank=rank, **given)  # type: ignore[arg-type]  # fields of the message
        at = int((START + second) * SECOND)
        self.ranks.add_reports("a", [report], at, at)

    def advance(self, second: int) -> None:
        """Advance to a second."""
        self.ranks.settle()
        self.trends.advance((START + second) * SECOND, self.ranks)

    def of(self, name: str, run: str = "r") -> list[float]:
        """Return the values of a series."""
        trend = self.trends.of(run)
        assert trend is not None
        return [float(value) for value in trend.values[name]]


def test_a_point_has_the_rates_between_two_reports() -> None:
    """Amounts are rates by the clock over all ranks, and times and shares are means over them."""
    trainings = Trainings()
    for second in range(11):
        for rank in range(2):
            wait = 0.2 if rank else 0.0
            trainings.report(second, rank=rank, tokens=100.0, samples=8.0, data_wait_seconds=wait, loss=2.0 + rank)
        trainings.advance(second)
    trend = trainings.trends.of("r")
    assert trend is not None
    assert [time - START for time in trend.times] == [5.0, 10.0]
    assert trainings.of("step") == [5.0, 10.0]
    assert trainings.of("step_seconds") == [0.25, 0.25]
    assert trainings.of("data_wait_ratio") == pytest.approx([0.1, 0.1])
    assert trainings.of("tokens_per_second") == [200.0, 200.0]
    assert trainings.of("samples_per_second") == [16.0, 16.0]
    assert trainings.of("loss") == [2.0, 2.0]  # of the first rank
    assert trend.newest("step") == 10.0
    assert trainings.trends.last_step("r") == 10
    assert trainings.trends.last_step("other") is None


def test_rates_are_steady_although_reports_come_in_whole_seconds() -> None:
    """Steps of 0.93 s of which 0.31 s are between steps: some seconds have no report, and the rates do not jump."""
    trainings = Trainings()
    due = 0.0
    for second in range(301):
        if second >= due:
            due += 1.24
            trainings.report(second, steps=1, step_seconds=0.93, tokens=124.0)
        trainings.advance(second)
    rates = trainings.of("tokens_per_second")[12:]
    assert len(rates) > 40
    assert min(rates) > 95
    assert max(rates) < 105


def test_unknown_values_are_not_zero() -> None:
    """A run without tokens, losses and waits has none of them in its points."""
    trainings = Trainings()
    for second in range(6):
        trainings.report(second)
        trainings.advance(second)
    assert trainings.of("step_seconds") == [0.25]
    for name in ("tokens_per_second", "data_wait_ratio", "loss"):
        assert [math.isnan(value) for value in trainings.of(name)] == [True]
    trend = trainings.trends.of("r")
    assert trend is not None
    assert trend.newest("loss") is None
    assert trainings.trends.of("other") is None


def test_long_steps_have_fewer_points() -> None:
    """Between two reports there is no point, and the rate is that of the whole time between them."""
    trainings = Trainings()
    for second in range(101):
        if second % 30 == 0:
            trainings.report(second, steps=1, step_seconds=30.0, tokens=300.0)
        trainings.advance(second)
    trend = trainings.trends.of("r")
    assert trend is not None
    assert [time - START for time in trend.times] == [30.0, 60.0, 90.0]
    assert trainings.of("tokens_per_second") == [10.0, 10.0, 10.0]


def test_a_rank_that_is_gone_no_longer_counts() -> None:
    """The last rate of a rank without reports is left out after fifteen seconds."""
    trainings = Trainings()
    for second in range(41):
        trainings.report(second, rank=0, tokens=100.0)
        if second <= 10:
            trainings.report(second, rank=1, tokens=50.0)
        trainings.advance(second)
    assert trainings.of("tokens_per_second") == pytest.approx([150.0] * 5 + [100.0] * 3)


def test_ranks_come_and_go() -> None:
    """Rates of the others stay right when the table of ranks is reordered, and when a rank begins again."""
    trainings = Trainings()
    for second in range(21):
        trainings.report(second, rank=5, tokens=100.0)
        if second >= 4:
            trainings.report(second, run="early", tokens=7.0)
        if second == 12:
            trainings.ranks.forget("a")
        trainings.advance(second)
    assert trainings.of("tokens_per_second") == [100.0, 100.0, 100.0]  # unknown at 15: the table was emptied at 12
    assert trainings.of("tokens_per_second", "early") == [7.0, 7.0]


def test_the_last_step_of_a_run_of_some_seconds_is_kept() -> None:
    """A run that ends before it has a second report leaves its step and its loss, but no rates."""
    trainings = Trainings()
    trainings.report(1, run="short", step=60, loss=0.5)
    for second in range(71):
        trainings.report(second, run="long")
        trainings.advance(second)
    assert trainings.trends.last_step("short") == 60
    assert trainings.of("loss", "short") == [0.5]
    assert math.isnan(trainings.of("step_seconds", "short")[0])
    assert trainings.of("step", "long") == [float(step) for step in range(5, 71, 5)]


def test_points_are_kept_for_ten_minutes() -> None:
    """The ring holds the newest ones in order, and a later start of the same run does not show those of the first."""
    trainings = Trainings()
    for second in range(0, 900, POINT_SECONDS):
        trainings.report(second)
        trainings.advance(second)
    trend = trainings.trends.of("r")
    assert trend is not None
    assert len(trend.times) == POINTS
    assert list(np.diff(trend.times)) == [POINT_SECONDS] * (POINTS - 1)
    for second in range(5000, 5016, POINT_SECONDS):
        trainings.report(second)
        trainings.advance(second)
    trend = trainings.trends.of("r")
    assert trend is not None
    assert trend.times[0] >= START + 5000
    assert trend.times[-1] - trend.times[0] < KEPT_SECONDS


def test_the_memory_is_bounded() -> None:
    """A new run replaces the one without points for the longest time; runs that report are never replaced."""
    trainings = Trainings(max_runs=3)
    for number in range(6):
        for second in (0, 5, 10):
            trainings.report(number * 100 + second, run=f"run-{number}")
            trainings.advance(number * 100 + second)
    kept = [number for number in range(6) if trainings.trends.of(f"run-{number}") is not None]
    assert kept == [3, 4, 5]
    for second in (1000, 1005):
        for number in range(5):
            trainings.report(second, run=f"new-{number}")
        trainings.advance(second)
    assert sum(trainings.trends.of(f"new-{number}") is not None for number in range(5)) == 3
    slow = Trainings(max_runs=2)
    for second, names in ((0, "ab"), (5, "ab"), (10, "b"), (15, "bc"), (30, "ac")):  # c has its first point at 30
        for run in names:
            slow.report(second, run=run)
        slow.advance(second)
    assert [run for run in "abc" if slow.trends.of(run) is not None] == ["a", "c"]
    many = Trainings()
    for second in (0, 5):
        for number in range(MAX_RUNS + 200):
            many.ranks.add_reports(f"h{number % 50}", [pb.StepReport(run=f"x{number}", steps=1, step_seconds=1.0)],
                                   (START + second) * SECOND, (START + second) * SECOND)  # fmt: skip
        many.advance(second)
    assert many.trends.bytes <= MAX_BYTES < 8 * 1024**2


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1.0])
def test_odd_values_do_no_harm(odd: float) -> None:
    """A loss that is not finite is unknown, and negative amounts are not counted."""
    trainings = Trainings()
    for second in range(11):
        trainings.report(second, tokens=max(odd, 0.0) if odd < 0 else 10.0, loss=odd, data_wait_seconds=odd)
        trainings.advance(second)
    assert trainings.of("step_seconds") == [0.25, 0.25]
    assert [math.isnan(value) for value in trainings.of("loss")] == [not math.isfinite(odd)] * 2
