"""What checkpoints cost and how often they are written, as rank 0 says."""

import pytest

from flyball_collector.advice.checkpoint_watch import CheckpointWatch
from flyball_collector.engine.testing.hosts import Stage
from flyball_proto.v1 import telemetry_pb2 as pb


def train(on: Stage, watch: CheckpointWatch, seconds: int, every: int, *, cost: float = 4.0, rank: int = 0) -> None:
    """A step a second, and a checkpoint each so many."""
    for second in range(1, seconds + 1):
        saving = {"forward": 0.4} | ({"save_checkpoint": cost} if second % every == 0 else {})
        report = pb.StepReport(run="r", rank=rank, step=int(on.now), steps=1, step_seconds=0.9, section_seconds=saving)
        on.report(report)
        on.step()
        watch.look(on.view)


def test_cost_and_interval_are_medians_of_what_was_seen() -> None:
    """Four regular checkpoints make a habit, three do not yet; a run that leaves is forgotten."""
    on, watch = Stage(), CheckpointWatch()
    on.host()
    train(on, watch, 100, 30)
    assert watch.habits() == {}
    train(on, watch, 60, 25)
    train(on, watch, 60, 30)
    habit = watch.habits()["r"]
    assert habit.cost_seconds == 4.0
    assert habit.interval_seconds == pytest.approx(30, abs=2)
    on.fleet.ranks.forget("a")
    on.step()
    watch.look(on.view)
    assert watch.habits() == {}


def test_irregular_checkpoints_say_nothing() -> None:
    """Where reports are missed, intervals are no intervals; other ranks' words are not counted."""
    on, watch = Stage(), CheckpointWatch()
    on.host()
    train(on, watch, 20, 10)
    train(on, watch, 120, 60)
    assert watch.habits() == {}
    other = CheckpointWatch()
    train(on, other, 120, 20, rank=1)
    assert other.habits() == {}


def test_of_very_many_runs_the_largest_are_watched() -> None:
    """What a second may cost is bounded, and a checkpoint that stops many ranks is seen in any case."""
    on, watch = Stage(), CheckpointWatch()
    for host in ("a", "b", "c"):
        on.host(host)
    for host in ("a", "b"):
        on.report(*(pb.StepReport(run=f"{host}{n}", steps=1, step_seconds=0.5) for n in range(256)), host=host)
    for second in range(1, 121):
        saving = {"save": 4.0} if second % 20 == 0 else {}
        reports = [
            pb.StepReport(run="z", rank=rank, step=second, steps=1, step_seconds=0.9, section_seconds=saving)
            for rank in range(2)
        ]
        on.report(*reports, pb.StepReport(run="y", steps=1, step_seconds=0.9, section_seconds=saving), host="c")
        on.step()
        watch.look(on.view)
    assert set(watch.habits()) == {"z"}
