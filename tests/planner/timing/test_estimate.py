"""Tests of the estimated step time: its parts and the laws that it must obey."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.belief import predict_interval
from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Experts, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.coefficients import Coefficients, fitted, from_logarithms
from flyball_planner.timing.estimate import StepEstimate, estimate_step, logarithms, step_interval, step_middle
from flyball_planner.timing.sample_extent import lacking_share, stages_by_fullest
from flyball_planner.timing.seconds import PART_NAMES, step_seconds
from flyball_planner.timing.work import join, repeat, select_rows
from flyball_planner.timing.work_builder import build_work
from flyball_planner.training import Attention, Checkpointing, Method, Offload, Sharding, Training
from flyball_reports.errors import InputError

GPT = TransformerShape(TransformerKind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128)
MIXTURE = TransformerShape(TransformerKind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128, experts=Experts(8, 2, 4096))
TRAINING = Training(1024, 64, find_optimizer("adamw"), precision=PRECISIONS["fp16"], framework="deepspeed")
NODE = machine("A100 SXM 80GB", 8)
SIXTEEN = machine("A100 SXM 80GB", 16, network="1600 Gbps")


def step(*layouts: ParallelLayout, training: Training = TRAINING, shape: TransformerShape = GPT) -> StepEstimate:
    """Estimate the step for some layouts of one node."""
    return estimate_step(shape, training, Layouts.of(*layouts), NODE)


def seconds(layout: ParallelLayout, training: Training = TRAINING) -> float:
    """Return the middle of the estimated step time."""
    return float(step(layout, training=training).middle[0])


def test_parts_add_up_to_the_step() -> None:
    """The parts sum to the step time."""
    found = step(ParallelLayout(8, tensor=2, pipeline=2, micro_batch=2), ParallelLayout(8, micro_batch=8))
    added = np.sum([getattr(found.parts, name) for name in PART_NAMES], axis=0)
    assert added == pytest.approx(found.middle)
    assert sum(found.parts_of(0).values()) == pytest.approx(found.middle[0])


def test_the_interval_contains_its_middle() -> None:
    """The interval extends from its middle by the same factor on both sides."""
    found = step(ParallelLayout(8, micro_batch=8))
    assert found.low[0] < found.middle[0] < found.high[0]
    assert found.middle[0] / found.low[0] == pytest.approx(found.high[0] / found.middle[0])


def test_a_joined_call_equals_one_call_per_coefficient() -> None:
    """Computing all points at once gives the same interval as computing them one by one."""
    layouts = Layouts.of(
        ParallelLayout(8, tensor=2, pipeline=2, micro_batch=2),
        ParallelLayout(8, micro_batch=8),
        ParallelLayout(8, context=2),
    )
    work = build_work(GPT, TRAINING, layouts, NODE)
    together = step_interval(work, fitted())
    one_by_one = predict_interval(fitted(), lambda point: logarithms(work, point))
    assert np.array(together) == pytest.approx(np.array(one_by_one), rel=1e-9)


def test_layouts_do_not_affect_each_other() -> None:
    """Layouts share products that are equal. Joining and selecting rows does not change their step times."""
    choices = product((1, 2, 4), (1, 2), (1, 4), (Sharding.NONE, Sharding.ZERO1), (1, 2))
    layouts = [
        ParallelLayout(8, tensor=tensor, pipeline=pipeline, micro_batch=micro_batch, sharding=sharding, expert=expert)
        for tensor, pipeline, micro_batch, sharding, expert in choices
    ]
    many = build_work(MIXTURE, TRAINING, Layouts.of(*layouts), NODE)
    assert many.body.products.rows.shape[1] < len(layouts)
    alone = [build_work(MIXTURE, TRAINING, Layouts.of(each), NODE) for each in layouts]
    expected = pytest.approx([float(step_middle(each)[0]) for each in alone], rel=1e-12)
    assert step_middle(many).tolist() == expected
    assert step_middle(join(alone)).tolist() == expected
    assert step_middle(repeat(many, 2)).tolist()[len(layouts) :] == expected
    assert step_middle(select_rows(many, np.arange(len(layouts))[::-1])).tolist()[::-1] == expected


def test_recomputation_costs_about_a_forward_pass() -> None:
    """Full checkpointing makes the step longer by between a fifth and a third."""
    plain, full = ParallelLayout(8, micro_batch=8), ParallelLayout(8, micro_batch=8, checkpointing=Checkpointing.FULL)
    assert 1.2 < seconds(full) / seconds(plain) < 1.34


def test_chunks_shrink_the_bubble_of_a_pipeline() -> None:
    """The bubble is (stages − 1) / micro-batches, divided by the chunks per stage."""
    plain, chunked = (
        ParallelLayout(8, pipeline=4, micro_batch=8),
        ParallelLayout(8, pipeline=4, interleave=2, micro_batch=8),
    )
    found = step(plain, chunked)
    assert found.parts.bubble[0] == pytest.approx(2 * found.parts.bubble[1])
    assert found.parts.bubble[0] > 0


def test_small_kernels_wait_for_the_host() -> None:
    """A small model with a small micro-batch is limited by kernel launches; a large one is not."""
    small = replace(GPT, hidden=512, heads=8, kv_heads=8, head_dim=64, ffn=2048)
    found = estimate_step(small, TRAINING, Layouts.of(ParallelLayout(8, micro_batch=1)), NODE)
    assert found.parts_of(0)["launch"] > 0.25 * found.middle[0]
    assert step(ParallelLayout(8, micro_batch=8)).parts_of(0).get("launch", 0.0) < 0.01 * found.middle[0]


def test_causal_flash_attention_does_half_the_work() -> None:
    """At long sequences a decoder takes half to three quarters of the time of an encoder."""
    training = replace(TRAINING, sequence=65_536, global_batch=8, attention=Attention.FLASH)
    layout = Layouts.of(ParallelLayout(8))
    causal = estimate_step(GPT, training, layout, NODE)
    both_ways = estimate_step(replace(GPT, kind=TransformerKind.ENCODER), training, layout, NODE)
    assert 0.5 < causal.middle[0] / both_ways.middle[0] < 0.75


def test_materialised_scores_cost_time() -> None:
    """Writing and reading the matrix of scores makes the step slower."""
    materialised = replace(TRAINING, attention=Attention.MATERIALISED)
    assert seconds(ParallelLayout(8, micro_batch=8), materialised) > seconds(ParallelLayout(8, micro_batch=8))


def total(coefficients: Coefficients, training: Training, device: str) -> float:
    """Return the seconds of a step with the given coefficients."""
    work = build_work(GPT, training, Layouts.of(ParallelLayout(8, micro_batch=4)), machine(device, 8))
    return float(step_seconds(work, coefficients).total[0])


def test_batched_products_matter_only_for_matrix_units() -> None:
    """The coefficient of batched products affects matrix units, and not FP32, which does not use them."""
    usual = from_logarithms(fitted().middle)
    slower = replace(usual, batched=usual.batched / 4)
    wide = replace(TRAINING, precision=PRECISIONS["fp32"], attention=Attention.MATERIALISED)
    half = replace(TRAINING, attention=Attention.MATERIALISED)
    assert total(slower, wide, "V100 SXM2 32GB") == total(usual, wide, "V100 SXM2 32GB")
    assert total(slower, half, "V100 SXM2 32GB") > 1.1 * total(usual, half, "V100 SXM2 32GB")


def test_batched_attention_is_limited_by_moving_its_scores() -> None:
    """Faster arithmetic does not help below the time to write and read the scores."""
    usual = from_logarithms(fitted().middle)
    scores = replace(TRAINING, attention=Attention.MATERIALISED)
    fast, faster = (total(replace(usual, batched=share), scores, "A100 SXM 80GB") for share in (1e3, 1e6))
    assert fast == faster


def test_full_attention_costs_more_than_a_window() -> None:
    """A model with a window in half of its layers is halfway between all layers and none."""
    training = replace(TRAINING, sequence=65_536, global_batch=8, attention=Attention.FLASH)
    windowed = replace(GPT, sliding_window=128)
    shapes = (windowed, replace(windowed, full_attention_every=2), GPT)
    found = [float(estimate_step(shape, training, Layouts.of(ParallelLayout(8)), NODE).middle[0]) for shape in shapes]
    assert found[0] < found[1] < found[2]
    assert found[1] - found[0] == pytest.approx(found[2] - found[1], rel=0.01)


CLUSTER = machine("A100 SXM 80GB", 64, network="1600 Gbps")
STAGES = ParallelLayout(64, pipeline=4, micro_batch=4, sharding=Sharding.ZERO1)
MEGATRON = replace(TRAINING, framework="megatron")


def test_chunks_hide_more_of_the_gradients_exchange() -> None:
    """With two chunks per stage, gradients of one chunk are sent during the backward pass of the other."""
    layouts = Layouts.of(STAGES, replace(STAGES, interleave=2))
    found = estimate_step(GPT, MEGATRON, layouts, CLUSTER)
    assert 0 < found.parts.data[1] < found.parts.data[0]


def test_interleaved_pipelines_hide_the_exchange_of_experts() -> None:
    """With two chunks per stage, one computes while tokens of the other are exchanged."""
    shape = replace(GPT, experts=Experts(count=16, active=2, ffn=8192))
    layout = replace(STAGES, expert=16)
    found = estimate_step(shape, MEGATRON, Layouts.of(layout, replace(layout, interleave=2)), CLUSTER)
    assert 0 < found.parts.expert[1] < found.parts.expert[0]


def test_the_network_is_slower_than_the_node() -> None:
    """Tensor parallelism costs more if it crosses nodes."""
    training = replace(TRAINING, framework="pytorch")
    inside = estimate_step(GPT, training, Layouts.of(ParallelLayout(16, tensor=8, micro_batch=4)), SIXTEEN)
    outside = estimate_step(GPT, training, Layouts.of(ParallelLayout(16, tensor=16, micro_batch=4)), SIXTEEN)
    assert outside.parts.tensor[0] > 2 * inside.parts.tensor[0]


def test_fully_sharded_weights_are_gathered_for_each_micro_batch() -> None:
    """ZeRO-3 exchanges more than ZeRO-1 in a framework that overlaps both."""
    overlapping = replace(TRAINING, framework="pytorch")
    sharded = ParallelLayout(8, micro_batch=2, sharding=Sharding.ZERO3)
    zero1 = replace(sharded, sharding=Sharding.ZERO1)
    assert step(sharded, training=overlapping).parts.data[0] > step(zero1, training=overlapping).parts.data[0]


def test_single_card_machines_exchange_over_the_network() -> None:
    """Eight machines with one card need longer than eight cards in one machine, in every way to share states."""
    training = replace(TRAINING, framework="pytorch")
    card = "RTX 3060"
    layouts = [ParallelLayout(8, micro_batch=2, sharding=sharding) for sharding in Sharding]
    spread = [replace(each, devices_a_node=1) for each in layouts]
    near = estimate_step(GPT, training, Layouts.of(*layouts), machine(card, 8)).parts.data
    far = estimate_step(GPT, training, Layouts.of(*spread), machine(card, 8, devices_a_node=1)).parts.data
    assert (far > 3 * near).all()
    weights = 2 * GPT.layers * 12 * GPT.hidden**2  # bytes that ZeRO-2 returns to all ranks after a step
    assert far[list(Sharding).index(Sharding.ZERO2)] > 0.5 * weights / 1.25e9


def test_sharding_over_many_ranks_waits_for_the_ring() -> None:
    """Gathering passes all ranks, so ZeRO-3 of a small model does not get faster beyond some hundred devices."""
    training = replace(TRAINING, global_batch=2048)
    found = []
    for devices in (256, 1024):
        layout = ParallelLayout(devices, micro_batch=1, sharding=Sharding.ZERO3)
        wide = machine("A100 SXM 80GB", devices, network="1600 Gbps")
        found.append(float(estimate_step(GPT, training, Layouts.of(layout), wide).middle[0]))
    assert found[1] > 0.9 * found[0]


def test_sharding_within_a_node_spares_the_network() -> None:
    """Shards that stay within a node are gathered over its links; only gradients cross the network."""
    training = replace(TRAINING, framework="pytorch", precision=PRECISIONS["bf16-autocast"], global_batch=128)
    slow = machine("A100 SXM 80GB", 64, network="200 Gbps")
    everywhere = ParallelLayout(64, micro_batch=2, sharding=Sharding.ZERO3)
    found = estimate_step(GPT, training, Layouts.of(everywhere, replace(everywhere, shard_group=8)), slow)
    assert 0 < found.parts.data[1] < 0.9 * found.parts.data[0]


def test_adapters_save_the_gradients_of_frozen_weights() -> None:
    """A LoRA step is faster than a step of full training."""
    assert seconds(ParallelLayout(8, micro_batch=8), replace(TRAINING, method=Method.LORA)) < 0.9 * seconds(
        ParallelLayout(8, micro_batch=8)
    )


def test_utilisation_follows_from_time() -> None:
    """MFU is the model's FLOPs relative to the nominal rate; recomputation counts only in HFU."""
    found = step(ParallelLayout(8, micro_batch=8, checkpointing=Checkpointing.FULL))
    assert found.mfu[0] == pytest.approx(found.model_flops / (found.middle[0] * 8 * 312e12))
    assert 1.25 < found.hfu[0] / found.mfu[0] < 4 / 3
    assert found.tokens_per_second[0] == pytest.approx(64 * 1024 / found.middle[0])


def test_narrow_products_have_two_utilisations() -> None:
    """With 8-bit products, MFU refers to the 8-bit rate, and the other figure to the 16-bit rate, which is half."""
    eight = replace(TRAINING, framework="pytorch", precision=PRECISIONS["fp8"])
    layout = Layouts.of(ParallelLayout(8, micro_batch=8))
    narrow = estimate_step(GPT, eight, layout, machine("H100 SXM", 8))
    assert narrow.wide_mfu[0] == pytest.approx(narrow.mfu[0] * 1979 / 989)
    usual = step(ParallelLayout(8, micro_batch=8))
    assert usual.wide_mfu[0] == usual.mfu[0]


def test_a_pipeline_waits_for_its_fullest_stage() -> None:
    """126 layers in 16 stages take as long as 128, because eight layers are in the fullest stage."""
    assert stages_by_fullest(replace(GPT, layers=126), np.array([16.0, 1.0, 14.0])).tolist() == [15.75, 1.0, 14.0]
    training = replace(MEGATRON, global_batch=256)
    layout = Layouts.of(ParallelLayout(64, pipeline=16))
    uneven, even, fewer = (
        estimate_step(replace(GPT, layers=layers), training, layout, CLUSTER).parts for layers in (126, 128, 112)
    )
    for part in ("forward", "backward", "bubble", "data"):
        assert getattr(uneven, part)[0] == pytest.approx(getattr(even, part)[0], rel=1e-6)
    assert uneven.forward[0] == pytest.approx(8 / 7 * fewer.forward[0])


def test_the_output_takes_the_place_of_missing_layers() -> None:
    """The last of 16 stages holds 3 of 62 layers, others 4, so a short output costs nothing; 64 layers wait for it."""
    sixteen = Layouts.of(ParallelLayout(64, pipeline=16), ParallelLayout(64, pipeline=16, interleave=2))
    assert lacking_share(replace(GPT, layers=126), sixteen).tolist() == [0.125, 0.125]
    assert lacking_share(replace(GPT, layers=61), sixteen).tolist() == [0.5, 0.5]
    assert (
        lacking_share(GPT, Layouts.of(*(ParallelLayout(8, pipeline=each) for each in (1, 4, 8)))).tolist() == [0.0] * 3
    )
    training = replace(MEGATRON, global_batch=1024)
    layouts = Layouts.of(ParallelLayout(64, pipeline=16, micro_batch=16))
    uneven, even = (
        estimate_step(replace(GPT, layers=layers, vocab=2048), training, layouts, CLUSTER).parts.head[0]
        for layers in (62, 64)
    )
    assert uneven == 0.0 < even


def test_wide_heads_use_batched_products_better() -> None:
    """Twice as many heads of half the width need the same FLOPs and take longer if scores are written."""
    training = replace(TRAINING, attention=Attention.MATERIALISED)
    layouts = Layouts.of(ParallelLayout(8, micro_batch=4))
    narrow = replace(GPT, heads=32, kv_heads=32, head_dim=64)
    products = [build_work(shape, training, layouts, NODE).body for shape in (GPT, narrow)]
    assert products[0].attention_flops == products[1].attention_flops
    assert products[0].attention_rate == pytest.approx(2 * products[1].attention_rate)


def test_a_published_step_time_is_within_the_interval() -> None:
    """A step of GPT-2 124M in llm.c on eight A100 takes about 300 ms, which the interval contains."""
    training = replace(
        TRAINING, global_batch=512, precision=PRECISIONS["bf16"], compiled=True, framework="llm.c", fused_loss=True
    )
    layout = Layouts.of(ParallelLayout(8, micro_batch=64, sharding=Sharding.ZERO1))
    assert estimate_step(named_shape("gpt2"), training, layout, NODE).seconds().holds(0.3)


def test_image_networks_are_timed_by_their_operators() -> None:
    """ResNet-50 on one A100 with mixed precision reaches about 2,000 images/s (NVIDIA's examples)."""
    training = Training(1, 256, find_optimizer("sgd-momentum"), precision=PRECISIONS["fp16-autocast"])
    one = machine("A100 SXM 80GB", 1)
    found = estimate_step(model_cost("resnet50", {}), training, Layouts.of(ParallelLayout(1, micro_batch=256)), one)
    assert 1200 < found.samples_per_second[0] < 3200


@settings(max_examples=25)
@given(
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([8, 16, 32]),
)
def test_a_faster_device_is_never_slower(tensor: int, pipeline: int, micro_batch: int, batches: int) -> None:
    """For any layout an H100 is at least as fast as an A100 and never exceeds its nominal rate."""
    if tensor * pipeline > 8:
        return
    layout = ParallelLayout(8, tensor=tensor, pipeline=pipeline, micro_batch=micro_batch)
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
    """Encoders, encoder-decoders, images, experts and latent attention have a finite step below the nominal rate."""
    training = replace(TRAINING, sequence=512, framework="pytorch")
    found = estimate_step(named_shape(name), training, Layouts.of(ParallelLayout(8, micro_batch=8)), NODE)
    assert 0 < found.low[0] < found.middle[0] < found.high[0] < np.inf
    assert 0.05 < found.mfu[0] < 0.9


@pytest.mark.parametrize(
    "name", ["CPU_8C_3.5Ghz_baseline", "M2_Ultra", "TPU_v4_pod", "RTX_4090_fp16", "GTX_1660Ti_fp32"]
)
def test_every_kind_of_device_has_a_step(name: str) -> None:
    """Processors, unified memory, pods and desktop cards have a finite step below the nominal rate."""
    one = machine(name, 1)
    training = replace(TRAINING, precision=PRECISIONS["bf16"], framework="pytorch")
    found = estimate_step(GPT, training, Layouts.of(ParallelLayout(1, micro_batch=1)), one)
    assert np.isfinite(found.middle[0])
    assert 0 < found.mfu[0] < 1


def test_an_unsupported_precision_is_refused() -> None:
    """A TPU's matrix units do not support FP32; the error suggests a narrower precision."""
    training = replace(TRAINING, precision=PRECISIONS["fp32"])
    with pytest.raises(InputError, match="narrower precision"):
        estimate_step(GPT, training, Layouts.of(ParallelLayout(1)), machine("TPU_v4_pod", 1))


def test_offloaded_states_cost_transfers() -> None:
    """Offloading the optimizer moves gradients to the host and weights back once per step."""
    plain = ParallelLayout(8, micro_batch=8, sharding=Sharding.ZERO2)
    hosted = replace(plain, offload=Offload.OPTIMIZER)
    found = step(plain, hosted)
    assert found.parts.optimizer[1] > found.parts.optimizer[0]
