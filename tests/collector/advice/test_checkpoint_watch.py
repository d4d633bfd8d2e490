"""The cost and interval of checkpoints, from the reports of rank 0."""

import pytest

from flyball_collector.advice.checkpoint_watch import CheckpointWatch
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb


def train(
    fleet: SimulatedFleet, watch: CheckpointWatch, seconds: int, every: int, *, cost: float = 4.0, rank: int = 0
) -> None:
    """Play a step a second, and a checkpoint every `every` seconds."""
    for second in range(1, seconds + 1):
        saving = {"forward": 0.4} | ({"save_checkpoint": cost} if second % every == 0 else {})
        report = pb.StepReport(
            run="r", rank=rank, step=int(fleet.now), steps=1, step_seconds=0.9, section_seconds=saving
        )
        fleet.report(report)
        fleet.step()
        watch.update(fleet.view)


def test_the_newest_checkpoint_is_known_from_the_first_on() -> None:
    """Its time is that of its report; a run that leaves is forgotten."""
    fleet, watch = SimulatedFleet(), CheckpointWatch()
    fleet.host()
    train(fleet, watch, 29, 30)
    assert watch.newest() == {}
    train(fleet, watch, 40, 30)
    assert watch.newest() == {"r": pytest.approx(fleet.view.now - 10, abs=1.0)}
    fleet.fleet.ranks.forget("a")
    fleet.step()
    watch.update(fleet.view)
    assert watch.newest() == {}


def test_cost_and_interval_are_medians() -> None:
    """Four regular checkpoints make a habit, three do not; a run that leaves is forgotten."""
    fleet, watch = SimulatedFleet(), CheckpointWatch()
    fleet.host()
    train(fleet, watch, 100, 30)
    assert watch.habits() == {}
    train(fleet, watch, 60, 25)
    train(fleet, watch, 60, 30)
    habit = watch.habits()["r"]
    assert habit.cost_seconds == 4.0
    assert habit.interval_seconds == pytest.approx(30, abs=2)
    fleet.fleet.ranks.forget("a")
    fleet.step()
    watch.update(fleet.view)
    assert watch.habits() == {}


def test_irregular_checkpoints_are_ignored() -> None:
    """Intervals with missed reports do not count, and neither do reports of other ranks."""
    fleet, watch = SimulatedFleet(), CheckpointWatch()
    fleet.host()
    train(fleet, watch, 20, 10)
    train(fleet, watch, 120, 60)
    assert watch.habits() == {}
    other = CheckpointWatch()
    train(fleet, other, 120, 20, rank=1)
    assert other.habits() == {}


def test_of_very_many_runs_the_largest_are_measured() -> None:
    """The cost of a second is limited; a checkpoint that stops many ranks is always noticed."""
    fleet, watch = SimulatedFleet(), CheckpointWatch()
    for host in ("a", "b", "c"):
        fleet.host(host)
    for host in ("a", "b"):
        fleet.report(*(pb.StepReport(run=f"{host}{n}", steps=1, step_seconds=0.5) for n in range(256)), host=host)
    for second in range(1, 121):
        saving = {"save": 4.0} if second % 20 == 0 else {}
        reports = [
            pb.StepReport(run="z", rank=rank, step=second, steps=1, step_seconds=0.9, section_seconds=saving)
            for rank in range(2)
        ]
        fleet.report(*reports, pb.StepReport(run="y", steps=1, step_seconds=0.9, section_seconds=saving), host="c")
        fleet.step()
        watch.update(fleet.view)
    assert set(watch.habits()) == {"z"}
