"""Tests of steps that mostly consist of launches and Python."""

import pytest

from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import Plan
from flyball_planner.plan.roofline import bottleneck
from flyball_planner.specification.reader import read_specification
from flyball_reports.figures import duration

SMALL = """\
model: {name: mlp, n: 50000, d_in: 784, d_out: 10, layers: [512, 256, 128], batch_size: 64, epochs: 20}
hardware: RTX_3060_fp16
"""
TINY = SMALL.replace("[512, 256, 128]", "[32, 16]").replace("batch_size: 64", "batch_size: 8")


def planned(text: str) -> Plan:
    """Return the plan of a YAML text."""
    return make_plan(read_specification(text))


def test_a_small_perceptron_is_limited_by_overhead() -> None:
    """A step of 64 samples is launches and Python, not arithmetic: its utilisation is far below one per cent."""
    plan = planned(SMALL)
    assert plan.computation.mfu_percent is not None
    assert plan.computation.mfu_percent < 1
    assert plan.computation.bottleneck == "overhead-bound"


def test_a_larger_batch_is_recommended_with_its_speed() -> None:
    """More samples share the same launches, so the recommendation states more samples per second."""
    larger = next(each for each in planned(SMALL).recommendations if "larger batch" in each.change)
    assert "overhead" in larger.because
    after, before = (float(word.replace(",", "")) for word in larger.effect.split() if word[0].isdigit())
    assert after > 3 * before


def test_a_cuda_graph_is_recommended_on_gpus_only() -> None:
    """A graph removes at most the overhead, which the estimate states; a processor launches nothing."""
    plan = planned(SMALL)
    graph = next(each for each in plan.recommendations if "CUDA graph" in each.change)
    assert "at best a step of" in graph.effect
    on_processor = planned(TINY.replace("RTX_3060_fp16", "CPU_8C_3.5Ghz_baseline"))
    assert on_processor.computation.bottleneck == "overhead-bound"
    assert not any("CUDA graph" in each.change for each in on_processor.recommendations)


def test_the_processor_is_recommended_for_tiny_steps_only() -> None:
    """The processor is recommended with its own plan's step, launches included, and only where that is shorter."""
    (advice,) = (each for each in planned(TINY).recommendations if "processor" in each.change)
    own = planned(TINY.replace("RTX_3060_fp16", "CPU_8C_3.5Ghz_baseline")).computation.step_seconds
    assert own is not None
    assert f"a step of {duration(own.middle)} on eight cores" in advice.effect
    assert not any("processor" in each.change for each in planned(SMALL).recommendations)
    large = planned("model: gpt2-xl\nhardware: A100_80GB_fp16\ntraining: {batch_size: 64, steps: 10}\n")
    assert large.computation.bottleneck != "overhead-bound"
    assert not any("processor" in each.change or "larger batch" in each.change for each in large.recommendations)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ({"forward": 1.0, "launch": 0.3, "fixed": 0.3}, "overhead-bound"),
        ({"forward": 1.0, "launch": 0.2, "fixed": 0.2}, "compute-bound"),
        ({"forward": 1.0, "fixed": 2.0, "data": 4.0}, "communication-bound"),
        ({"forward": 1.0, "fixed": 2.0, "waiting_for_data": 1.0}, "data-bound"),
    ],
)
def test_launches_and_the_fixed_part_are_overhead_together(parts: dict[str, float], word: str) -> None:
    """Both parts count together, and what comes before them in the order still has priority."""
    assert bottleneck(parts, 0.2) == word
