"""Tests of plans made from specifications."""

import json
import re

import msgspec
import pytest

from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import Plan
from flyball_planner.plan.roofline import Roof, bottleneck, roofline
from flyball_planner.plan.words import layout_in_short
from flyball_planner.report.document import json_text
from flyball_planner.report.render import ReportFormat, render
from flyball_planner.specification.example_files import example_names, example_text
from flyball_planner.specification.reader import read_specification
from flyball_reports.errors import InputError


def planned(text: str) -> Plan:
    """Return the plan of a YAML text."""
    return make_plan(read_specification(text))


GPT = (
    "model: gpt2\nhardware: {{device: {device}, devices: {devices}}}\ntraining: {{batch_size: 64, steps: 1000{more}}}\n"
)


def gpt(device: str = "A100_80GB_fp16", devices: int = 1, more: str = "") -> Plan:
    """Return a plan of GPT-2 on some devices."""
    return planned(GPT.format(device=device, devices=devices, more=more))


@pytest.mark.parametrize("name", example_names())
def test_the_examples_are_rendered_in_every_format(name: str) -> None:
    """The JSON document converts back to the plan, the memory fits and every format gives a text."""
    plan = planned(example_text(name))
    assert msgspec.convert(json.loads(json_text(plan)), Plan) == plan
    assert plan.memory.verdict == "fits"
    assert plan.computation.estimated_train_seconds.middle > 0
    assert 0 < plan.memory.utilization_percent < 100
    assert all(render(plan, form, verbose=True) for form in ReportFormat)


def test_the_parts_of_memory_and_step_add_up() -> None:
    """Parts of memory, step and parameters each sum to their total."""
    plan = gpt()
    memory = sum(part.amount.middle for part in plan.memory.parts)
    assert memory == pytest.approx(plan.memory.driver_bytes.middle, rel=0.02)
    step = sum(part.amount.middle for part in plan.computation.step_parts)
    assert step == pytest.approx(plan.computation.step_seconds.middle, rel=0.02)
    assert sum(each.parameters for each in plan.model.parameter_parts) == plan.model.parameters


def test_more_devices_are_faster_but_not_more_efficient() -> None:
    """The efficiency of a scaling row is throughput per device relative to the first row."""
    plan = planned(
        GPT.format(device="A100_80GB_fp16", devices=8, more="") + "scalability: {devices: [1, 2, 4, 8, 16]}\n"
    )
    rows = plan.scaling_devices
    assert [row.devices for row in rows] == [1, 2, 4, 8, 16]
    speeds = [row.samples_per_second for row in rows]
    assert speeds == sorted(speeds)
    assert rows[0].efficiency == 1
    assert all(row.efficiency <= 1.02 for row in rows)
    planned_size = next(row for row in rows if row.devices == 8)
    assert planned_size.step_seconds.middle == pytest.approx(plan.computation.step_seconds.middle)


def test_a_plan_that_does_not_fit_suggests_a_change() -> None:
    """The plan has the verdict, a warning and a single change with the memory that it frees."""
    plan = planned("model: llama-3.1-70b\nhardware: RTX_4090_fp16\ntraining: {batch_size: 8, steps: 10}\n")
    assert plan.memory.verdict == "does not fit"
    assert plan.memory.headroom_bytes < 0
    assert any("does not fit" in warning for warning in plan.warnings)
    assert plan.memory.best_single_change
    assert any("frees" in each.change for each in plan.recommendations)


def test_only_possible_changes_are_suggested() -> None:
    """Tensor parallelism is not suggested for convolutions, which it cannot divide."""
    plan = planned(example_text("deep_learning"))
    assert plan.memory.best_single_change is not None
    assert "tensor parallelism" not in plan.memory.best_single_change


def test_a_change_is_suggested_for_a_layout_that_no_search_proposes() -> None:
    """Beside gradients sharded within a pipeline, which only a user chooses, checkpointing still frees memory."""
    plan = planned(
        "model: llama-3.1-8b\nhardware: {device: H100 SXM, devices: 16}\nlayout: {pipeline: 2, sharding: zero2}\n"
        "training: {sequence: 4096, batch_size: 128, steps: 10, precision: bf16}\n"
    )
    assert plan.layout.sharding == "zero2"
    assert plan.memory.best_single_change is not None
    assert "full checkpointing" in plan.memory.best_single_change


def test_an_impossible_layout_is_an_error() -> None:
    """Three samples cannot be spread over eight devices, which is an InputError."""
    with pytest.raises(InputError, match="no layout is possible"):
        planned("model: {name: mlp, d_in: 9, d_out: 2, batch_size: 3}\nhardware: {device: A100, devices: 8}\n")


def test_the_users_price_has_priority() -> None:
    """The cost is device-hours times the user's price, and offers are still compared."""
    text = GPT.format(device="A100_80GB_fp16", devices=8, more="")
    plan = planned(text + "cost: {usd_per_device_hour: 2}\n")
    assert plan.cost.cost_usd is not None
    assert plan.cost.cost_usd.middle == pytest.approx(2 * plan.cost.device_hours.middle)
    assert plan.cost.offers
    spot = planned(text + "cost: {spot: true}\n")
    on_demand = planned(text)
    assert spot.cost.cost_usd is not None
    assert on_demand.cost.cost_usd is not None
    assert spot.cost.cost_usd.middle < on_demand.cost.cost_usd.middle


@pytest.mark.parametrize(("device", "offered"), [("RTX 4090", True), ("TPU v5e", False)])
def test_8_bit_states_are_only_offered_where_their_library_runs(device: str, offered: bool) -> None:
    """bitsandbytes has no kernels for TPUs."""
    plan = planned(f"model: llama-3.2-1b\nhardware: {device}\ntraining: {{batch_size: 8, steps: 10}}\n")
    assert any("8-bit" in each.change for each in plan.recommendations) == offered


def test_many_tokens_per_parameter_are_a_plain_number() -> None:
    """No power of ten is in the reason for a larger model."""
    plan = planned("model: gpt2\nhardware: H100\ntraining: {batch_size: 8, tokens: 300B}\n")
    (larger,) = (each for each in plan.recommendations if each.change == "Consider a larger model")
    assert larger.because.startswith("2,411 tokens per parameter; ")


def test_recommendations_have_an_estimated_effect() -> None:
    """For fp32 on tensor cores mixed precision is suggested, with its estimated step time."""
    plan = gpt("A100_80GB_fp16", more=", precision: fp32")
    change = next(each for each in plan.recommendations if "mixed precision" in each.change)
    assert change.effect.startswith("estimated: a step of")


def test_a_specified_layout_is_kept() -> None:
    """A layout in the specification is used without a search."""
    whole = "layout: {tensor: 2, micro_batch: 4, sharding: none, checkpointing: none}\n"
    plan = planned(GPT.format(device="A100_80GB_fp16", devices=4, more="") + whole)
    assert (plan.layout.tensor, plan.layout.data, plan.layout.micro_batch) == (2, 2, 4)
    assert plan.layout.chosen_by == "specification"
    assert plan.layout.accumulation == 8
    assert plan.alternatives == ()


def test_the_roofline_separates_memory_from_arithmetic() -> None:
    """Points are below the roof, and a larger batch raises the intensity."""
    subject = read_specification("model: gpt2\nhardware: M1_Pro\n").subject
    roof = Roof(312e12, 2.0e12)
    small, large = (roofline(subject, 1024, samples, 2.0, roof) for samples in (1, 64))
    assert large.intensity > small.intensity
    for point in large.points:
        assert point.flops_per_second <= roof.attainable(point.flops_per_byte) * (1 + 1e-9)
    assert sum(point.time_share for point in large.points) == pytest.approx(1, abs=0.05)
    assert bottleneck({"forward": 1.0, "data": 2.0}, 0.1) == "communication-bound"
    assert bottleneck({"forward": 1.0}, 0.6) == "memory-bound"
    assert bottleneck({"forward": 1.0}, 0.4) == "compute-bound"
    assert bottleneck({"forward": 1.0, "launch": 2.0}, 0.4) == "overhead-bound"


def test_equal_specifications_give_equal_plans() -> None:
    """A plan does not depend on random numbers or the time."""
    assert gpt() == gpt()


def test_a_classical_model_computes_in_its_own_format() -> None:
    """In fp64 the device has half the rate of fp32, and no point of the roofline is above it."""
    text = (
        "model: {{name: linear_regression_normal, n: 1e6, p: 500, precision: {}}}\nhardware: CPU_8C_3.5Ghz_baseline\n"
    )
    double, single = planned(text.format("fp64")), planned(text.format("fp32"))
    assert (double.hardware.format, single.hardware.format) == ("fp64", "fp32")
    assert double.hardware.flops_per_second == single.hardware.flops_per_second / 2
    assert (
        max(each.flops_per_second for each in double.computation.roofline) <= double.hardware.flops_per_second * 1.0001
    )
    assert double.computation.ridge_flops_per_byte == single.computation.ridge_flops_per_byte / 2


def test_a_plan_separates_its_steps_from_the_complete_run() -> None:
    """Time, cost, goodput and the row of the same size all describe the complete run; the steps alone are shorter."""
    text = GPT.format(device="A100_80GB_fp16", devices=8, more="") + "scalability: {devices: [8]}\n"
    plan = planned(text + "cost: {usd_per_device_hour: 3}\n")
    computed, alone = plan.computation, plan.computation.steps_alone_seconds
    assert alone is not None
    assert computed.overrun is not None
    assert computed.estimated_train_seconds.middle > computed.overrun * alone.middle
    assert computed.estimated_train_seconds.low >= alone.low
    assert computed.goodput_percent == pytest.approx(100 * alone.middle / computed.estimated_train_seconds.middle)
    assert plan.cost.cost_usd is not None
    for end in ("low", "middle", "high"):
        hours = getattr(computed.estimated_train_seconds, end) / 3600
        assert getattr(plan.cost.cost_usd, end) == pytest.approx(8 * 3 * hours)
    assert plan.scaling_devices[0].train_seconds == computed.estimated_train_seconds


def test_a_fit_has_no_overrun() -> None:
    """A classical model is fitted in one go, so nothing lies beyond its steps."""
    plan = planned("model: {name: kmeans, n: 1e6, p: 50}\nhardware: CPU_8C_3.5Ghz_baseline\n")
    assert plan.computation.steps_alone_seconds is None
    assert plan.computation.overrun is None
    assert plan.computation.efficiency is not None


def test_adapters_are_recommended_where_all_weights_do_not_fit() -> None:
    """Llama 2 7B does not fit into 24 GB, but QLoRA does, with its figure; a training that fits gets no such advice."""
    text = "model: llama-2-7b\nhardware: RTX_4090_fp16\ntraining: {{batch_size: 8, sequence: 1024, steps: 10{}}}\n"
    advice = [each for each in planned(text.format("")).recommendations if "QLoRA" in each.change]
    assert len(advice) == 1
    assert "GiB of 24.0 GiB" in advice[0].because
    fitting = planned(text.format(", method: qlora"))
    assert fitting.memory.verdict == "fits"
    assert not any("LoRA" in each.change for each in fitting.recommendations)


def test_a_users_efficiency_changes_the_time_and_is_shown() -> None:
    """With a given efficiency, the section states it and products take the time that follows."""
    text = (
        "model: gpt2-xl\nhardware: {{device: A100_80GB_fp16, efficiency: {}}}\ntraining: {{batch_size: 64, steps: 9}}\n"
    )
    slow, fast = (planned(text.format(each)).computation for each in (0.2, 0.6))
    assert (slow.efficiency, slow.efficiency_basis) == (0.2, "as specified")
    assert slow.step_seconds.middle > 1.8 * fast.step_seconds.middle


@pytest.mark.parametrize("device", ["A100_80GB_fp16", "RTX_3060_fp16", "CPU_8C_3.5Ghz_baseline"])
def test_an_estimated_efficiency_can_be_given_back(device: str) -> None:
    """The efficiency that a plan states, written into the specification, gives the same plan."""
    text = "model: gpt2\nhardware: {{device: {}{}}}\ntraining: {{batch_size: 64, steps: 9}}\n"
    estimated = planned(text.format(device, "")).computation
    assert estimated.efficiency_basis == "estimated"
    again = planned(text.format(device, f", efficiency: {estimated.efficiency}")).computation
    assert again.efficiency == estimated.efficiency
    assert again.step_seconds.middle == pytest.approx(estimated.step_seconds.middle, rel=1e-6)


def test_the_network_of_other_rows_is_an_assumption() -> None:
    """Cards of single machines need a network for the rows with several of them, which nobody specified."""
    text = "model: gpt2\nhardware: {device: RTX_3060_fp16, devices_per_node: 1}\ntraining: {batch_size: 64, steps: 9}\n"
    alone = planned(text)
    several = planned(text + "scalability: {devices: [1, 2, 4]}\n")
    assert not any("network" in each for each in alone.assumptions)
    assert any("no network between nodes given" in each for each in several.assumptions)
    assert len(set(several.assumptions)) == len(several.assumptions)


def test_utilisation_counts_what_frozen_weights_compute() -> None:
    """A plan of LoRA counts two thirds of full training's FLOPs, in the model, the step and the whole run."""
    full, lora = (gpt(more=more) for more in (", sequence: 128", ", sequence: 128, method: lora"))
    for figures in (
        [each.model.training_flops_per_sample for each in (full, lora)],
        [each.computation.training_flops for each in (full, lora)],
        [(each.computation.mfu_percent or 0.0) * each.computation.step_seconds.middle for each in (full, lora)],
    ):
        assert figures[1] / figures[0] == pytest.approx(2 / 3, rel=0.02)


CLASSICAL = "hardware: {device: CPU_8C_3.5Ghz_baseline}\n"


@pytest.mark.parametrize("model", ["{name: kmeans, n: 1e6, p: 20}", "{name: linear_regression_normal, n: 1e6, p: 20}"])
def test_the_energy_of_a_fit_is_its_power_for_its_time(model: str) -> None:
    """A processor of 95 W uses 95 J in each second, 40 % more with its machine, and the data centre's share on top."""
    found = planned(f"model: {model}\n{CLASSICAL}").computation
    assert found.energy_kilowatt_hours is not None
    joules = 95 * 1.4 * 1.2 * found.estimated_train_seconds.middle
    assert found.energy_kilowatt_hours.middle * 3.6e6 == pytest.approx(joules)


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("{name: random_forest, n: 1e5, p: 20}", "latency-bound"),
        ("{name: svm_rbf, n: 1e4, p: 20}", "sequential-bound"),
        ("{name: linear_regression_normal, n: 1e5, p: 500}", "compute-bound"),
        ("{name: kmeans, n: 1e6, p: 3, k: 2}", "memory-bound"),
    ],
)
def test_a_classical_model_is_limited_by_what_takes_most_of_its_time(model: str, limit: str) -> None:
    """Trees wait for scattered accesses, solvers for their own steps, wide products for arithmetic."""
    plan = planned(f"model: {model}\n{CLASSICAL}")
    assert plan.computation.bottleneck == limit
    assert "FLOP per byte" not in render(plan, ReportFormat.MARKDOWN)


def test_the_limit_of_a_network_does_not_contradict_its_operators() -> None:
    """The report names compute where most of the operators' time is limited by arithmetic."""
    training = "{batch_size: 480, sequence: 1024, steps: 10, compiled: true, precision: bf16}"
    plan = planned(f"model: gpt2\nhardware: {{device: A100_40GB_fp16, devices: 8}}\ntraining: {training}\n")
    assert plan.computation.bottleneck == "compute-bound"
    assert plan.computation.arithmetic_intensity_flops_per_byte < plan.computation.ridge_flops_per_byte
    (shares,) = re.findall(r"(\d+) % of the time is limited by arithmetic", render(plan, ReportFormat.MARKDOWN))
    assert int(shares) > 50


def test_a_classical_model_counts_its_own_samples_on_one_device() -> None:
    """Passes over the data are not samples, comparisons are not called FLOPs, and no row has other devices."""
    plan = planned(f"model: {{name: kmeans, n: 100000, p: 20}}\n{CLASSICAL}scalability: {{devices: [1, 2, 4]}}\n")
    assert plan.training.samples == 100_000
    assert plan.scaling_devices == ()
    text = render(plan, ReportFormat.MARKDOWN)
    assert "| Data | 100,000 samples, complete fit |" in text
    assert "FLOPs |" not in text


def test_chunks_of_a_pipeline_are_in_the_short_form() -> None:
    """Two layouts that differ in their chunks per stage are not the same line of a table."""
    layout = ParallelLayout(devices=8, pipeline=4, interleave=2)
    assert layout_in_short(layout) == "DP2 PP4 V2 mb1"


@pytest.mark.parametrize(("steps", "words"), [(10, "GiB at the end"), (10_000_000, "GiB every ")])
def test_a_short_run_has_a_checkpoint_at_its_end(steps: int, words: str) -> None:
    """No interval is stated that is as long as the run."""
    text = f"model: gpt2\nhardware: A100_80GB_fp16\ntraining: {{batch_size: 8, steps: {steps}}}\n"
    (found,) = (each for each in planned(text).assumptions if each.startswith("a checkpoint of "))
    assert words in found


@pytest.mark.parametrize(("framework", "words"), [("megatron", "while another chunk"), ("pytorch", "computing waits")])
def test_a_plan_states_whether_experts_are_exchanged_while_computing(framework: str, words: str) -> None:
    """The assumptions name what happens to the messages between experts, which decide the step of a large mixture."""
    plan = planned(
        "model: mixtral-8x7b\nhardware: {device: H100_80GB_fp16, devices: 64}\n"
        f"training: {{batch_size: 512, sequence: 4096, steps: 1000, framework: {framework}}}\n"
        "layout: {pipeline: 4, interleave: 2, expert: 8, micro_batch: 1}\n"
    )
    assert [each for each in plan.assumptions if words in each]
