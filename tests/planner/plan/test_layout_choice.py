"""Tests of the layouts of plans: what a user leaves out is completed, whatever the user chose."""

import pytest

from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.plan.layout_choice import choose_for
from flyball_planner.plan.make import make_plan
from flyball_planner.plan.scaling import slower_with_more
from flyball_planner.report.render import ReportFormat, render
from flyball_planner.specification.reader import read_specification
from flyball_planner.training import Checkpointing, Sharding
from flyball_reports.errors import InputError

LLAMA_3 = """\
model: llama-3.1-405b
training: {{sequence: 8192, batch_size: 2048, steps: 1000, precision: bf16, framework: megatron}}
hardware: {{device: H100 SXM, devices: 16384}}
layout: {{tensor: 8, pipeline: 16, {more}}}
"""
DEEPSEEK_V3 = """\
model: deepseek-v3
training: {optimizer: adamw-bf16, precision: fp8, fp32_gradients: true, framework: megatron,
  sequence: 4096, batch_size: 15360, tokens: 14.8T}
hardware: {device: H800, devices: 2048}
layout: {pipeline: 16, bidirectional: true, expert: 64, micro_batch: 1, sharding: zero1, checkpointing: light}
"""


@pytest.mark.parametrize("more", ["interleave: 8", "interleave: 3", "interleave: 1", "sequence_parallel: false"])
def test_an_uneven_pipeline_is_completed_by_what_fits(more: str) -> None:
    """Llama 3 405B in 16 stages, with or without chunks, gets a micro-batch, sharding and checkpointing that fit."""
    best = choose_for(read_specification(LLAMA_3.format(more=more))).best
    assert (best.layout.tensor, best.layout.pipeline) == (8, 16)
    assert best.layout.sharding in {Sharding.NONE, Sharding.ZERO1}  # others were not asked for in a pipeline
    assert fits(best.memory)[best.row] is Fit.YES


def test_the_steps_of_llama_3_are_within_the_interval() -> None:
    """16,384 H100 took 400 TFLOP/s each with 16 stages of 8 chunks (Dubey et al. 2024, table 4): 6.7 s a step."""
    step = choose_for(read_specification(LLAMA_3.format(more="interleave: 8"))).best.step
    assert step.low < 6.7 < step.high


def test_the_published_run_of_deepseek_v3_is_within_the_interval() -> None:
    """PP16 in two directions, EP64, ZeRO-1, no tensor parallelism took 2.664 M H800 hours (its report, table 1)."""
    specification = read_specification(DEEPSEEK_V3)
    best = choose_for(specification).best
    hours = [steps * 14.8e12 / (15_360 * 4096) * 2048 / 3600 for steps in (best.step.low, best.step.high)]
    assert hours[0] < 2.664e6 < hours[1]
    assert best.layout.checkpointing is Checkpointing.LIGHT
    assert fits(best.memory)[best.row] is Fit.UNCERTAIN  # it ran on 80 GB, with activations' inputs in 8 bits


def test_shard_groups_are_kept_when_a_layout_is_completed() -> None:
    """A layout with groups of eight shards gets the micro-batch and checkpointing that fit."""
    text = (
        "model: llama-3.1-8b\ntraining: {batch_size: 512, sequence: 4096, steps: 10}\n"
        "hardware: {device: H100 SXM, devices: 32}\nlayout: {shard_group: 8, sharding: zero3}\n"
    )
    choice = choose_for(read_specification(text))
    assert (choice.best.layout.shard_group, choice.best.layout.sharding) == (8, Sharding.ZERO3)
    assert (choice.chosen_by, fits(choice.best.memory)[choice.best.row]) == ("completion", Fit.YES)


def test_a_layout_that_nothing_completes_shows_the_smallest() -> None:
    """If no completion fits, the plan shows the one that needs least memory, and states it."""
    text = LLAMA_3.format(more="sharding: none").replace("pipeline: 16", "pipeline: 2")
    plan = make_plan(read_specification(text))
    assert (plan.memory.verdict, plan.layout.checkpointing) == ("does not fit", "full")
    assert "none surely fits" in render(plan, ReportFormat.MARKDOWN)


@pytest.mark.parametrize("devices", [3, 6, 10, 12, 24, 96])
def test_odd_numbers_of_devices_have_a_plan_or_a_reason(devices: int) -> None:
    """A batch that the devices do not divide is planned with shared copies, or refused with what to do."""
    text = f"model: llama-3.1-8b\ntraining: {{batch_size: 64, sequence: 2048, steps: 10}}\nhardware: {devices}xH100\n"
    try:
        layout = choose_for(read_specification(text)).best.layout
    except InputError as error:
        assert "use a batch of" in str(error)  # noqa: PT017  either a plan or a reason
        assert "is not a multiple of replicas" in str(error)  # noqa: PT017
    else:
        assert layout.devices == devices
        assert 64 % layout.data == 0


def test_a_pipeline_of_unequal_stages_is_preferred_to_none() -> None:
    """96 cards share 32 layers in 12 unequal stages, because nothing else divides a batch of 32 as fast."""
    text = (
        "model: mixtral-8x7b\ntraining: {batch_size: 32, sequence: 512, steps: 1000, framework: deepspeed}\n"
        "hardware: {device: RTX 4090, devices: 96}\nscalability: {devices: [64, 96]}\n"
    )
    plan = make_plan(read_specification(text))
    assert plan.computation.step_seconds.middle < 2.0
    (slower,) = slower_with_more(plan.scaling_devices, 32)
    assert slower.startswith("96 devices are slower than 64: a batch of 32 cannot be divided into 96 equal parts")
    assert slower in plan.warnings
    assert list(slower_with_more(plan.scaling_devices[:1], 32)) == []
