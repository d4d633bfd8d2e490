"""Tests of what a plan tells of its data and of measured runs."""

import pytest

from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import Plan
from flyball_planner.specification.read import read_specification

RESNET = """\
model: resnet50
training: {batch_size: 1024, steps: 1000, optimizer: sgd-momentum, precision: fp16-autocast}
hardware: {device: RTX_4090_fp16, devices: 4, host_cores: 64}
"""
GPT = """\
model: gpt2-medium
training: {batch_size: 512, sequence: 1024, steps: 1000, precision: bf16}
hardware: {device: A100_80GB_fp16, devices: 8}
"""


def planned(text: str) -> Plan:
    """The plan of a text."""
    return make_plan(read_specification(text))


def resnet(loading: str) -> Plan:
    """An image classifier whose data arrive so."""
    return planned(f"{RESNET}loading: {loading}\n")


def gpt(step: float, memory: float = 30e9) -> Plan:
    """A language model of which some runs were measured to take so long."""
    runs = "".join(
        f"  - {{batch_size: {batch}, micro_batch: 8, step_seconds: {step * batch / 512}, allocated_bytes: {memory}}}\n"
        for batch in (128, 256, 512, 1024)
    )
    return planned(f"{GPT}calibration:\n{runs}")


def test_a_slow_loader_is_waited_for_and_bounds_the_run() -> None:
    """The wait is a part of the step; the parts still add up; what would help is said with its gain."""
    free, slow = planned(RESNET), resnet("{samples_per_second: 2000}")
    assert slow.computation.step_seconds.middle == pytest.approx(1024 / 2000)
    assert slow.computation.bottleneck == "data-bound"
    assert sum(part.amount.middle for part in slow.computation.step_parts) == pytest.approx(1024 / 2000, rel=0.02)
    assert slow.loading is not None
    assert slow.loading.wait_seconds == pytest.approx(1024 / 2000 - free.computation.step_seconds.middle)
    assert slow.computation.samples_per_second == pytest.approx(2000)
    advice = next(each for each in slow.recommendations if "loader" in each.change)
    assert "waits" in advice.because


def test_a_quick_loader_costs_nothing() -> None:
    """It is hidden beside the computation; what it could deliver is told."""
    free, quick = planned(RESNET), resnet("{samples_per_second: 90000}")
    assert quick.computation.step_seconds == free.computation.step_seconds
    assert quick.loading is not None
    assert (quick.loading.wait_seconds, quick.loading.delivered_samples_per_second) == (0, 90000)
    assert quick.computation.bottleneck == free.computation.bottleneck


@pytest.mark.parametrize(
    ("loading", "said"),
    [
        ("{cpu_ms_per_sample: 9, workers: 4}", "loading workers a device"),
        ("{cpu_ms_per_sample: 40, workers: 16}", "Prepare samples once beforehand, or on the devices"),
        ("{cpu_ms_per_sample: 9, workers: 0}", "loading workers a device"),
        ("{bytes_per_sample: 110k, storage: hdd}", "Keep the data where a node reads"),
    ],
)
def test_advice_is_about_what_bounds_the_loader(loading: str, said: str) -> None:
    """More processes as far as there are cores; a faster storage where that is slow."""
    assert any(said in each.change for each in resnet(loading).recommendations)


def test_checkpoints_go_to_the_same_storage() -> None:
    """A slower disk makes them rarer, since each takes longer."""
    long = RESNET.replace("steps: 1000,", "steps: 10000000,")
    plans = [
        planned(f"{long}loading: {{bytes_per_sample: 1, storage_mb_per_second: {speed}}}\n") for speed in (50, 5000)
    ]
    slow, fast = ({each for each in plan.assumptions if "checkpoint" in each} for plan in plans)
    assert slow
    assert slow != fast


def test_scaling_waits_for_data_too() -> None:
    """On more devices of one node the loader delivers no more."""
    text = f"{RESNET}loading: {{samples_per_second: 2000}}\nscalability: [1, 2, 4]\n"
    speeds = [row.samples_per_second for row in planned(text).scaling_devices]
    assert max(speeds) <= 2000 * 1.001
    assert speeds[1:] == pytest.approx([2000, 2000], rel=0.01)


def test_measured_runs_move_and_narrow_a_plan() -> None:
    """Steps of twice the estimate, and what the report says of them."""
    cold = planned(GPT)
    step = 2 * cold.computation.step_seconds.middle
    warm = gpt(step)
    assert warm.calibration is not None
    assert warm.calibration.step is not None
    assert warm.calibration.memory is not None
    assert warm.calibration.step.runs == 4
    assert warm.calibration.step.width_after_percent < warm.calibration.step.width_before_percent
    assert 1.2 < warm.computation.step_seconds.middle / cold.computation.step_seconds.middle < 2.3
    assert warm.memory.driver_bytes != cold.memory.driver_bytes
    assert warm.calibration.kind == "transformer on A100 SXM4 80GB"


def test_runs_of_another_kind_change_nothing() -> None:
    """And the plan says so."""
    text = f"{GPT}calibration:\n  - {{device: H100 SXM, step_seconds: 1}}\n"
    plan = planned(text)
    assert plan.computation.step_seconds == planned(GPT).computation.step_seconds
    assert plan.calibration is not None
    assert (plan.calibration.step, plan.calibration.memory) == (None, None)
    assert plan.calibration.others == ("transformer on H100 SXM5",)


def test_a_classical_model_is_paced_by_measured_fits() -> None:
    """Its only unknown is how fast the implementation is on this machine."""
    text = "model: {name: kmeans, n: 1000000, p: 20, k: 8}\nhardware: CPU_8C_3.5Ghz_baseline\n"
    cold = planned(text).computation.step_seconds.middle
    runs = "".join(f"  - {{step_seconds: {2 * cold}}}\n" for _ in range(3))
    warm = planned(f"{text}calibration:\n{runs}").computation.step_seconds
    assert 1.4 * cold < warm.middle < 2.1 * cold
    assert warm.width < 1.5
