"""Tests of a plan's sections on data loading and measured runs."""

import math

import pytest

from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import Plan
from flyball_planner.specification.reader import read_specification
from flyball_planner.timing.overrun import FEW, IMAGES, overrun_law

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
    """Return the plan of a YAML text."""
    return make_plan(read_specification(text))


def resnet(loading: str) -> Plan:
    """Return the plan of an image classifier with a `loading` section."""
    return planned(f"{RESNET}loading: {loading}\n")


def gpt(step: float, memory: float = 30e9) -> Plan:
    """Return the plan of a language model with measured runs of this step time and memory."""
    runs = "".join(
        f"  - {{batch_size: {batch}, micro_batch: 8, step_seconds: {step * batch / 512}, allocated_bytes: {memory}}}\n"
        for batch in (128, 256, 512, 1024)
    )
    return planned(f"{GPT}calibration:\n{runs}")


def test_a_slow_loader_limits_the_run() -> None:
    """The wait is a part of the step, the parts still add up, and a recommendation mentions it."""
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
    """Loading is hidden behind the computation, and the plan has the rate that the loader could deliver."""
    free, quick = planned(RESNET), resnet("{samples_per_second: 90000}")
    assert quick.computation.step_seconds == free.computation.step_seconds
    assert quick.loading is not None
    assert (quick.loading.wait_seconds, quick.loading.delivered_samples_per_second) == (0, 90000)
    assert quick.computation.bottleneck == free.computation.bottleneck


@pytest.mark.parametrize(
    ("loading", "change"),
    [
        ("{cpu_ms_per_sample: 9, workers: 4}", "loading workers per device"),
        ("{cpu_ms_per_sample: 40, workers: 16}", "Prepare samples in advance or on the devices"),
        ("{cpu_ms_per_sample: 9, workers: 0}", "loading workers per device"),
        ("{bytes_per_sample: 110k, storage: hdd}", "Store the data where each node can read"),
    ],
)
def test_advice_is_about_the_slowest_loading_stage(loading: str, change: str) -> None:
    """The advice is more workers if there are free cores, or faster storage if that is the limit."""
    assert any(change in each.change for each in resnet(loading).recommendations)


def test_checkpoints_use_the_storage_of_the_data() -> None:
    """On a slower disk each checkpoint takes longer, so the interval is longer."""
    long = RESNET.replace("steps: 1000,", "steps: 10000000,")
    plans = [
        planned(f"{long}loading: {{bytes_per_sample: 1, storage_mb_per_second: {speed}}}\n") for speed in (50, 5000)
    ]
    slow, fast = ({each for each in plan.assumptions if "checkpoint" in each} for plan in plans)
    assert slow
    assert slow != fast


def test_scaling_is_limited_by_the_loader() -> None:
    """More devices in one node do not increase the rate of the loader."""
    text = f"{RESNET}loading: {{samples_per_second: 1500}}\nscalability: [1, 2, 4]\n"
    speeds = [row.samples_per_second for row in planned(text).scaling_devices]
    assert max(speeds) <= 1500 * 1.001
    assert speeds[1:] == pytest.approx([1500, 1500], rel=0.01)


def test_measured_runs_adjust_and_narrow_a_plan() -> None:
    """Measured steps of twice the estimate raise the estimate and narrow its interval."""
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
    """Runs on another device change no estimate and are listed under `others`."""
    text = f"{GPT}calibration:\n  - {{device: H100 SXM, step_seconds: 1}}\n"
    plan = planned(text)
    assert plan.computation.step_seconds == planned(GPT).computation.step_seconds
    assert plan.calibration is not None
    assert (plan.calibration.step, plan.calibration.memory) == (None, None)
    assert plan.calibration.others == ("transformer on H100 SXM5",)


def test_measured_fits_adjust_a_classical_model() -> None:
    """Measured fits calibrate the speed of the implementation on this machine."""
    text = "model: {name: kmeans, n: 1000000, p: 20, k: 8}\nhardware: CPU_8C_3.5Ghz_baseline\n"
    cold = planned(text).computation.step_seconds.middle
    runs = "".join(f"  - {{step_seconds: {2 * cold}}}\n" for _ in range(3))
    warm = planned(f"{text}calibration:\n{runs}").computation.step_seconds
    assert 1.4 * cold < warm.middle < 2.1 * cold
    assert warm.width < 1.5


def test_images_are_loaded_as_in_published_trainings_unless_loading_is_planned() -> None:
    """Without the section `loading` a training on images takes longer than its steps, and the plan names the reason."""
    unplanned = planned(RESNET)
    loaded = resnet("{workers: 16, cpu_ms_per_sample: 0.1}")
    assert any("images are loaded as slowly" in each for each in unplanned.assumptions)
    assert not any("images are loaded as slowly" in each for each in loaded.assumptions)
    factor = unplanned.computation.overrun
    assert factor is not None
    assert overrun_factor(FEW) < factor <= overrun_factor(IMAGES)
    assert factor == pytest.approx(overrun_factor(IMAGES), rel=0.05)  # hardly any of its steps is launches
    assert loaded.computation.overrun == pytest.approx(overrun_factor(FEW))


def overrun_factor(name: str) -> float:
    """Return the factor of a class of runs."""
    return max(1.0, math.exp(overrun_law(name).middle))
