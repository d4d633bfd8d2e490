"""Tests of learning from measured runs, each device and kind of model apart."""

from flyball_planner.calibration.learned import UNTAUGHT
from flyball_planner.calibration.learning import learn, learned_for
from flyball_planner.calibration.measured import Kind, MeasuredRuns, Refused, kind_of
from flyball_planner.catalogue.machines import machine
from flyball_planner.models.transformer.named import named_shape
from tests.planner.calibration.runs import BATCHES, fit, gpt, larger, slower

SLOW = [slower(gpt(batch), 1.4) for batch in BATCHES]


def test_kinds_learn_apart() -> None:
    """What a transformer teaches changes neither a regression nor another device."""
    found = {each.kind: each for each in learn([*SLOW, slower(fit(100_000), 1.2), slower(gpt(device="H100 SXM"), 0.9)])}
    assert set(found) == {
        Kind("A100 SXM4 80GB", "transformer"),
        Kind("H100 SXM5", "transformer"),
        Kind("CPU 8 cores 3.5 GHz", "linear_regression_normal"),
    }
    lesson = found[Kind("A100 SXM4 80GB", "transformer")].steps
    assert lesson is not None
    assert lesson.runs == 6
    assert lesson.factor.low > 1.2
    assert lesson.width_after < lesson.width_before


def test_memory_and_time_are_learned_from_whoever_measured_them() -> None:
    """A run without a peak teaches nothing of memory, and the other way about."""
    (found,) = learn([*SLOW, larger(gpt(), 1.1)])
    assert found.steps is not None
    assert found.memory is not None
    assert (found.steps.runs, found.memory.runs) == (6, 1)
    assert found.constants.whole_factor > 1


def test_a_plan_takes_what_is_of_its_kind() -> None:
    """Runs of another device are named as teaching nothing; the refused ones are counted."""
    wrong = slower(gpt(), 1000)
    runs = MeasuredRuns("runs.csv", (*SLOW, wrong, slower(fit(100_000), 1.2)), (Refused("line 3", "no such device"),))
    here = learned_for(runs, named_shape("gpt2"), machine("A100 SXM 80GB", 16))
    assert here.steps is not None
    assert here.steps.runs == 6
    assert here.refused == 2
    assert [str(each) for each in here.others] == ["linear_regression_normal on CPU 8 cores 3.5 GHz"]
    there = learned_for(runs, named_shape("gpt2"), machine("H100 SXM", 8))
    assert (there.steps, there.belief, there.constants) == (None, None, UNTAUGHT.constants)
    assert len(there.others) == 2


def test_experts_are_a_kind_of_their_own() -> None:
    """Mixtures of experts exchange tokens, dense transformers do not."""
    assert kind_of(named_shape("mixtral-8x7b"), machine("H100 SXM")).family == "mixture of experts"
