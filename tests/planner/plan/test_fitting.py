"""Tests of the advice for trainings that do not fit."""

import pytest

from flyball_planner.plan.fitting import changes_together, enough_devices, on_faster
from flyball_planner.plan.layout_choice import choose_for
from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import Plan
from flyball_planner.specification.reader import read_specification

LARGE = "model: llama-2-70b\nhardware: RTX_4090_fp16\ntraining: {{batch_size: 16, sequence: 2048, samples: 10000{}}}\n"
TIGHT = """\
model: gpt2-xl
hardware: RTX_3060_fp16
training: {batch_size: 64, sequence: 1024, steps: 10}
layout: {micro_batch: 8}
"""


def planned(text: str) -> Plan:
    """Return the plan of a specification."""
    return make_plan(read_specification(text))


@pytest.mark.parametrize("more", ["", ", method: qlora, lora_rank: 64, lora_targets: all-linear, bf16: true"])
def test_the_number_of_devices_that_is_enough_is_named_first(more: str) -> None:
    """70 B parameters do not fit on one card; the first advice is a number of devices on which they do."""
    specification = read_specification(LARGE.format(more))
    wider = enough_devices(specification, choose_for(specification).best)
    assert wider is not None
    advice = make_plan(specification).recommendations[0]
    assert advice.change == f"Use {wider.machine.devices} × GeForce RTX 4090"
    there = LARGE.format(more).replace("RTX_4090_fp16", f"{{device: RTX_4090_fp16, devices: {wider.machine.devices}}}")
    half = there.replace(f"devices: {wider.machine.devices}", f"devices: {wider.machine.devices // 2}")
    assert [planned(text).memory.verdict == "fits" for text in (there, half)] == [True, False]


def test_changes_that_fit_only_together_are_recommended_together() -> None:
    """GPT-2 XL needs several changes on a card of 12 GB: each step frees memory, and the last one fits."""
    specification = read_specification(TIGHT)
    together = changes_together(specification.subject, choose_for(specification).best)
    assert together.fits
    assert len(together.changes) > 1
    assert not any(each.fit == "yes" for each in together.changes[:-1])
    plan = make_plan(specification)
    assert plan.recommendations[0].effect == "the training then fits"
    for words in together.words:
        assert words[1:] in plan.recommendations[0].change


def test_a_change_that_is_not_enough_is_marked() -> None:
    """The largest single change is still listed, with the words that it is not enough."""
    single = next(each for each in planned(LARGE.format("")).recommendations if "which frees" in each.change)
    assert single.effect == "alone it is not enough"


def test_a_faster_layout_that_probably_fits_is_named() -> None:
    """DeepSeek-V3 with light checkpointing fits in the middle of the interval only, and is clearly faster."""
    specification = read_specification(
        "model: deepseek-v3\nhardware: {device: H800, devices: 2048}\ntraining: {optimizer: adamw-bf16, "
        "precision: fp8, fp32_gradients: true, framework: megatron, sequence: 4096, batch_size: 15360, steps: 1000}\n"
    )
    choice = choose_for(specification, shown=2)
    assert choice.perhaps is not None
    assert choice.perhaps.verdict == "uncertain"
    assert choice.perhaps.driver.middle < choice.perhaps.machine.device.memory_bytes
    assert choice.perhaps.step.middle < 0.95 * choice.best.step.middle
    (advice,) = on_faster(choice)
    assert "ckpt-light" in advice.change
    assert "probably fits" in advice.because
    assert advice in make_plan(specification).recommendations
    assert list(on_faster(choose_for(specification))) == []  # a row of a table needs no such advice


def test_restrictions_of_the_layout_are_dropped_if_nothing_else_fits() -> None:
    """Micro-batches of eight fit on no number of cards of 12 GB, other micro-batches do."""
    specification = read_specification(TIGHT)
    wider = enough_devices(specification, choose_for(specification).best)
    assert wider is not None
    assert wider.layout.micro_batch < 8


def test_a_training_that_fits_gets_no_such_advice() -> None:
    """A training that fits has no advice about fitting."""
    plan = planned("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 8, steps: 10}\n")
    assert not any("then fits" in each.effect or "not enough" in each.effect for each in plan.recommendations)


@pytest.mark.parametrize(
    ("model", "more", "shown"),
    [("gpt2", "", True), ("gpt2", ", method: lora", False), ("bert-large-uncased", "", False)],
)
def test_the_optimal_length_is_shown_for_fully_trained_decoders(model: str, more: str, shown: bool) -> None:
    """Twenty tokens a parameter is a law of decoders trained from scratch, not of adapters or encoders."""
    plan = planned(f"model: {model}\nhardware: A100_80GB_fp16\ntraining: {{batch_size: 8, steps: 10{more}}}\n")
    assert any("compute-optimal" in each.because for each in plan.recommendations) is shown


@pytest.mark.parametrize(
    ("device", "kernels"), [("V100 SXM2 32GB", False), ("T4", False), ("A100_80GB_fp16", True), ("MI250X", True)]
)
def test_cards_without_flash_kernels_use_another_attention(device: str, kernels: bool) -> None:
    """Before Ampere a plan names the attention that it assumes, and never recommends flash attention."""
    text = f"model: bert-large-uncased\nhardware: {device}\ntraining: {{batch_size: 8, steps: 10"
    usual = planned(text + "}\n")
    assert any("memory-efficient attention" in each for each in usual.assumptions) is not kernels
    written = planned(text + ", attention: materialised, sequence: 512}\n").recommendations
    advice = [each.change for each in written if "attention" in each.change and each.effect.startswith("estimated")]
    assert advice == ["Use flash attention" if kernels else "Use torch's memory-efficient attention (xFormers)"]
