"""Tests of the time of a step: its parts, and the laws it must obey."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.calibration.belief import predict_interval
from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named import named_shape
from flyball_planner.models.transformer.shape import Experts, Kind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.build import build_work
from flyball_planner.timing.coefficients import Coefficients, fitted, from_logarithms
from flyball_planner.timing.estimate import StepEstimate, estimate_step, logarithms, step_interval, step_middle
from flyball_planner.timing.seconds import PART_NAMES, step_seconds
from flyball_planner.timing.work import join, repeat, taken
from flyball_planner.training import Attention, Checkpointing, Method, Offload, Sharding, Training
from flyball_reports.errors import InputError

GPT = TransformerShape(Kind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128)
MIXTURE = TransformerShape(Kind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128, experts=Experts(8, 2, 4096))
TRAINING = Training(1024, 64, find_optimizer("adamw"), precision=PRECISIONS["fp16"], framework="deepspeed")
NODE = machine("A100 SXM 80GB", 8)
SIXTEEN = machine("A100 SXM 80GB", 16, network="1600 Gbps")


def step(*layouts: Layout, training: Training = TRAINING, shape: TransformerShape = GPT) -> StepEstimate:
    """The step of some layouts of one node."""
    return estimate_step(shape, training, Layouts.of(*layouts), NODE)


def seconds(layout: Layout, training: Training = TRAINING) -> float:
    """The middle of one."""
    return float(step(layout, training=training).middle[0])


def test_parts_add_up_to_the_step() -> None:
    """Nothing is counted twice, nothing left out."""
    found = step(Layout(8, tensor=2, pipeline=2, micro_batch=2), Layout(8, micro_batch=8))
    added = np.sum([getattr(found.parts, name) for name in PART_NAMES], axis=0)
    assert added == pytest.approx(found.middle)
    assert sum(found.parts_of(0).values()) == pytest.approx(found.middle[0])


def test_the_interval_surrounds_its_middle() -> None:
    """Low, middle and high rise, by factors alike on both sides."""
    found = step(Layout(8, micro_batch=8))
    assert found.low[0] < found.middle[0] < found.high[0]
    assert found.middle[0] / found.low[0] == pytest.approx(found.high[0] / found.middle[0])


def test_one_joined_call_gives_what_a_call_for_each_coefficient_gives() -> None:
    """Rows stay apart, however many points they are computed at together."""
    layouts = Layouts.of(Layout(8, tensor=2, pipeline=2, micro_batch=2), Layout(8, micro_batch=8), Layout(8, context=2))
    work = build_work(GPT, TRAINING, layouts, NODE)
    together = step_interval(work, fitted())
    apart = predict_interval(fitted(), lambda point: logarithms(work, point))
    assert np.array(together) == pytest.approx(np.array(apart), rel=1e-9)


def test_a_layout_takes_as_long_among_others_as_alone() -> None:
    """What many layouts multiply alike is computed once for all of them, and their works can be parted and joined."""
    choices = product((1, 2, 4), (1, 2), (1, 4), (Sharding.NONE, Sharding.ZERO1), (1, 2))
    layouts = [
        Layout(8, tensor=tensor, pipeline=pipeline, micro_batch=micro_batch, sharding=sharding, expert=expert)
        for tensor, pipeline, micro_batch, sharding, expert in choices
    ]
    many = build_work(MIXTURE, TRAINING, Layouts.of(*layouts), NODE)
    assert many.body.products.rows.shape[1] < len(layouts)
    alone = [build_work(MIXTURE, TRAINING, Layouts.of(each), NODE) for each in layouts]
    expected = pytest.approx([float(step_middle(each)[0]) for each in alone], rel=1e-12)
    assert step_middle(many).tolist() == expected
    assert step_middle(join(alone)).tolist() == expected
    assert step_middle(repeat(many, 2)).tolist()[len(layouts) :] == expected
    assert step_middle(taken(many, np.arange(len(layouts))[::-1])).tolist()[::-1] == expected


def test_recomputation_costs_about_a_forward_pass() -> None:
    """Full checkpointing lengthens the step by no more than a third and by no less than a fifth."""
    plain, again = Layout(8, micro_batch=8), Layout(8, micro_batch=8, checkpointing=Checkpointing.FULL)
    assert 1.2 < seconds(again) / seconds(plain) < 1.34


def test_a_pipeline_has_a_bubble_that_chunks_shrink() -> None:
    """The share of stages less one over micro-batches, divided by the chunks of a stage."""
    plain, chunked = Layout(8, pipeline=4, micro_batch=8), Layout(8, pipeline=4, interleave=2, micro_batch=8)
    found = step(plain, chunked)
    assert found.parts.bubble[0] == pytest.approx(2 * found.parts.bubble[1])
    assert found.parts.bubble[0] > 0


def test_small_kernels_wait_for_the_host() -> None:
    """A small model with a small micro-batch is bound by launches, a large one is not."""
    small = replace(GPT, hidden=512, heads=8, kv_heads=8, head_dim=64, ffn=2048)
    found = estimate_step(small, TRAINING, Layouts.of(Layout(8, micro_batch=1)), NODE)
    assert found.parts_of(0)["launch"] > 0.25 * found.middle[0]
    assert step(Layout(8, micro_batch=8)).parts_of(0).get("launch", 0.0) < 0.01 * found.middle[0]


def test_causal_flash_attention_does_half_the_work() -> None:
    """At long sequences it decides: a decoder's attention takes about half of an encoder's time."""
    training = replace(TRAINING, sequence=65_536, global_batch=8, attention=Attention.FLASH)
    layout = Layouts.of(Layout(8))
    causal = estimate_step(GPT, training, layout, NODE)
    both_ways = estimate_step(replace(GPT, kind=Kind.ENCODER), training, layout, NODE)
    assert 0.5 < causal.middle[0] / both_ways.middle[0] < 0.75


def test_materialised_scores_cost_time() -> None:
    """Reading and writing the matrix of scores is slower than never writing it."""
    materialised = replace(TRAINING, attention=Attention.MATERIALISED)
    assert seconds(Layout(8, micro_batch=8), materialised) > seconds(Layout(8, micro_batch=8))


def total(known: Coefficients, training: Training, device: str) -> float:
    """Seconds of a step with certain coefficients."""
    work = build_work(GPT, training, Layouts.of(Layout(8, micro_batch=4)), machine(device, 8))
    return float(step_seconds(work, known).total[0])


def test_units_without_matrices_are_kept_busy_by_a_head() -> None:
    """How well small batched products use matrix units says nothing of FP32, which has none."""
    known = from_logarithms(fitted().middle)
    slower = replace(known, batched=known.batched / 4)
    wide = replace(TRAINING, precision=PRECISIONS["fp32"], attention=Attention.MATERIALISED)
    half = replace(TRAINING, attention=Attention.MATERIALISED)
    assert total(slower, wide, "V100 SXM2 32GB") == total(known, wide, "V100 SXM2 32GB")
    assert total(slower, half, "V100 SXM2 32GB") > 1.1 * total(known, half, "V100 SXM2 32GB")


def test_batched_attention_takes_as_long_as_its_scores_to_move() -> None:
    """However fast it multiplied, it would have to write and read the scores."""
    known = from_logarithms(fitted().middle)
    scores = replace(TRAINING, attention=Attention.MATERIALISED)
    fast, faster = (total(replace(known, batched=share), scores, "A100 SXM 80GB") for share in (1e3, 1e6))
    assert fast == faster


def test_layers_that_see_everything_cost_more_than_windows() -> None:
    """A model half of whose layers ignore the window lies between one with windows alone and one without."""
    training = replace(TRAINING, sequence=65_536, global_batch=8, attention=Attention.FLASH)
    near = replace(GPT, sliding_window=128)
    shapes = (near, replace(near, full_attention_every=2), GPT)
    found = [float(estimate_step(shape, training, Layouts.of(Layout(8)), NODE).middle[0]) for shape in shapes]
    assert found[0] < found[1] < found[2]
    assert found[1] - found[0] == pytest.approx(found[2] - found[1], rel=0.01)


FAR = machine("A100 SXM 80GB", 64, network="1600 Gbps")
STAGES = Layout(64, pipeline=4, micro_batch=4, sharding=Sharding.ZERO1)
MEGATRON = replace(TRAINING, framework="megatron")


def test_chunks_hide_more_of_the_gradients_exchange() -> None:
    """Where a stage holds two chunks of layers, the gradients of one are sent beside the other's backward pass."""
    layouts = Layouts.of(STAGES, replace(STAGES, interleave=2))
    found = estimate_step(GPT, MEGATRON, layouts, FAR)
    assert 0 < found.parts.data[1] < found.parts.data[0]


def test_interleaved_pipelines_hide_the_exchange_of_experts() -> None:
    """Two chunks in turn: one computes while the other's tokens are on their way."""
    shape = replace(GPT, experts=Experts(count=16, active=2, ffn=8192))
    layout = replace(STAGES, expert=16)
    found = estimate_step(shape, MEGATRON, Layouts.of(layout, replace(layout, interleave=2)), FAR)
    assert 0 < found.parts.expert[1] < found.parts.expert[0]


def test_the_network_is_slower_than_the_node() -> None:
    """The same tensor parallelism costs more where it leaves the node."""
    training = replace(TRAINING, framework="pytorch")
    inside = estimate_step(GPT, training, Layouts.of(Layout(16, tensor=8, micro_batch=4)), SIXTEEN)
    outside = estimate_step(GPT, training, Layouts.of(Layout(16, tensor=16, micro_batch=4)), SIXTEEN)
    assert outside.parts.tensor[0] > 2 * inside.parts.tensor[0]


def test_fully_sharded_weights_are_gathered_for_each_micro_batch() -> None:
    """ZeRO-3 exchanges more than ZeRO-1, and hides most of it where the framework can."""
    hidden, waiting = replace(TRAINING, framework="pytorch"), TRAINING
    sharded = Layout(8, micro_batch=2, sharding=Sharding.ZERO3)
    divided = replace(sharded, sharding=Sharding.ZERO1)
    assert step(sharded).parts.data[0] > step(divided).parts.data[0]
    assert step(sharded, training=hidden).parts.data[0] < step(sharded, training=waiting).parts.data[0]


def test_adapters_spare_the_gradients_of_frozen_weights() -> None:
    """Low-rank adaptation trains faster than full training."""
    assert seconds(Layout(8, micro_batch=8), replace(TRAINING, method=Method.LORA)) < 0.9 * seconds(
        Layout(8, micro_batch=8)
    )


def test_utilisation_follows_from_time() -> None:
    """MFU is the model's FLOPs over the printed rate, and recomputation counts in HFU alone."""
    found = step(Layout(8, micro_batch=8, checkpointing=Checkpointing.FULL))
    assert found.mfu[0] == pytest.approx(found.model_flops / (found.middle[0] * 8 * 312e12))
    assert 1.25 < found.hfu[0] / found.mfu[0] < 4 / 3
    assert found.tokens_per_second[0] == pytest.approx(64 * 1024 / found.middle[0])


def test_a_well_known_training_takes_what_it_took() -> None:
    """GPT-2 124M on eight A100 takes about 300 ms a step in a fused C program (llm.c): within the interval."""
    training = replace(
        TRAINING, global_batch=512, precision=PRECISIONS["bf16"], compiled=True, framework="llm.c", fused_loss=True
    )
    layout = Layouts.of(Layout(8, micro_batch=64, sharding=Sharding.ZERO1))
    assert estimate_step(named_shape("gpt2"), training, layout, NODE).seconds().holds(0.3)


def test_networks_over_images_are_timed_by_their_operators() -> None:
    """ResNet-50 on one A100 with automatic mixed precision makes some 2,000 images a second (NVIDIA's examples)."""
    training = Training(1, 256, find_optimizer("sgd-momentum"), precision=PRECISIONS["fp16-autocast"])
    one = machine("A100 SXM 80GB", 1)
    found = estimate_step(model_cost("resnet50", {}), training, Layouts.of(Layout(1, micro_batch=256)), one)
    assert 1200 < found.samples_per_second[0] < 3200


@settings(max_examples=25)
@given(
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([8, 16, 32]),
)
def test_a_faster_device_is_never_slower(tensor: int, pipeline: int, micro_batch: int, batches: int) -> None:
    """Whatever the layout, an H100 beats an A100 and never beats its printed rate."""
    if tensor * pipeline > 8:
        return
    layout = Layout(8, tensor=tensor, pipeline=pipeline, micro_batch=micro_batch)
    training = replace(TRAINING, global_batch=layout.data * micro_batch * batches)
    columns = Layouts.of(layout)
    old = estimate_step(GPT, training, columns, NODE)
    new = estimate_step(GPT, training, columns, machine("H100 SXM", 8))
    assert new.middle[0] <= old.middle[0]
    assert new.mfu[0] < 1


@pytest.mark.parametrize(
    "name", ["t5-base", "bert-large", "vit-base", "mixtral-8x7b", "deepseek-v3", "gemma-2-2b", "opt-1.3b"]
)
def test_every_kind_of_transformer_has_a_step(name: str) -> None:
    """Encoders, stacks of two, images, experts and latent attention: finite, and below the printed rate."""
    training = replace(TRAINING, sequence=512, framework="pytorch")
    found = estimate_step(named_shape(name), training, Layouts.of(Layout(8, micro_batch=8)), NODE)
    assert 0 < found.low[0] < found.middle[0] < found.high[0] < np.inf
    assert 0.05 < found.mfu[0] < 0.9


@pytest.mark.parametrize(
    "name", ["CPU_8C_3.5Ghz_baseline", "M2_Ultra", "TPU_v4_pod", "RTX_4090_fp16", "GTX_1660Ti_fp32"]
)
def test_every_kind_of_device_has_a_step(name: str) -> None:
    """Processors, unified memory, pods and desktop cards: slower or faster, but never faster than printed."""
    one = machine(name, 1)
    training = replace(TRAINING, precision=PRECISIONS["bf16"], framework="pytorch")
    found = estimate_step(GPT, training, Layouts.of(Layout(1, micro_batch=1)), one)
    assert np.isfinite(found.middle[0])
    assert 0 < found.mfu[0] < 1


def test_a_precision_that_a_device_lacks_is_said() -> None:
    """A TPU's matrix units know no 32 bits: the message says what to choose instead."""
    training = replace(TRAINING, precision=PRECISIONS["fp32"])
    with pytest.raises(InputError, match="narrower precision"):
        estimate_step(GPT, training, Layouts.of(Layout(1)), machine("TPU_v4_pod", 1))


def test_states_on_the_host_cost_their_way_there() -> None:
    """Offloading the optimizer moves gradients out and weights in once a step."""
    plain = Layout(8, micro_batch=8, sharding=Sharding.ZERO2)
    hosted = replace(plain, offload=Offload.OPTIMIZER)
    found = step(plain, hosted)
    assert found.parts.optimizer[1] > found.parts.optimizer[0]
