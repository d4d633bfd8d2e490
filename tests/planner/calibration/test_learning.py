"""Tests of learning from measured runs, separately for each device and kind of model."""

from flyball_planner.calibration.corrections import NOTHING_LEARNED
from flyball_planner.calibration.learning import learn, learned_for
from flyball_planner.calibration.measured_runs import MeasuredRuns, Refused, RunKind, kind_of
from flyball_planner.catalogue.machines import machine
from flyball_planner.models.transformer.named_shapes import named_shape
from tests.planner.calibration.runs import BATCHES, fit, gpt, larger, slower

SLOW = [slower(gpt(batch), 1.4) for batch in BATCHES]


def test_kinds_are_learned_separately() -> None:
    """Runs of a transformer do not change the correction of a regression or of another device."""
    found = {each.kind: each for each in learn([*SLOW, slower(fit(100_000), 1.2), slower(gpt(device="H100 SXM"), 0.9)])}
    assert set(found) == {
        RunKind("A100 SXM4 80GB", "transformer"),
        RunKind("H100 SXM5", "transformer"),
        RunKind("CPU 8 cores 3.5 GHz", "linear_regression_normal"),
    }
    learned = found[RunKind("A100 SXM4 80GB", "transformer")].steps
    assert learned is not None
    assert learned.runs == 6
    assert learned.factor.low > 1.2
    assert learned.width_after < learned.width_before


def test_memory_and_time_are_learned_from_separate_runs() -> None:
    """Memory is learned only from runs with a measured peak, and time only from runs with a step time."""
    (found,) = learn([*SLOW, larger(gpt(), 1.1)])
    assert found.steps is not None
    assert found.memory is not None
    assert (found.steps.runs, found.memory.runs) == (6, 1)
    assert found.constants.total_factor > 1


def test_a_plan_uses_the_runs_of_its_kind() -> None:
    """Runs of another kind are listed but not used, and refused runs are counted."""
    wrong = slower(gpt(), 1000)
    runs = MeasuredRuns("runs.csv", (*SLOW, wrong, slower(fit(100_000), 1.2)), (Refused("line 3", "no such device"),))
    matching = learned_for(runs, named_shape("gpt2"), machine("A100 SXM 80GB", 16))
    assert matching.steps is not None
    assert matching.steps.runs == 6
    assert matching.refused == 2
    assert [str(each) for each in matching.others] == ["linear_regression_normal on CPU 8 cores 3.5 GHz"]
    without_runs = learned_for(runs, named_shape("gpt2"), machine("H100 SXM", 8))
    assert (without_runs.steps, without_runs.belief, without_runs.constants) == (None, None, NOTHING_LEARNED.constants)
    assert len(without_runs.others) == 2


def test_mixtures_of_experts_are_a_separate_kind() -> None:
    """Mixtures of experts differ from dense transformers because they exchange tokens."""
    assert kind_of(named_shape("mixtral-8x7b"), machine("H100 SXM")).family == "mixture of experts"
