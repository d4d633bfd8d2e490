"""Tests of estimating the memory of a training on its fullest device."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.allocator import SMALL_SEGMENT
from flyball_planner.memory.constants import GIB, Constants
from flyball_planner.memory.estimate import Subject, estimate_memory
from flyball_planner.memory.pipeline_stages import anatomy, pipeline_stages
from flyball_planner.models.cost import ModelBlock, ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Experts, Head, NormKind, Patches, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.training import Attention, Checkpointing, Lora, Method, Offload, Sharding, Training

CARD = ComputeDevice("card", DeviceKind.GPU, "maker", "kind", 80 * GIB, 2e12, {})
SHAPE = TransformerShape(
    kind=TransformerKind.DECODER, layers=24, hidden=2048, heads=16, ffn=5632, vocab=32_000, kv_heads=4, head_dim=128,
    gated=True, tied=False, norm=NormKind.RMS, norm_bias=False, qkv_bias=False, attention_output_bias=False,
    ffn_bias=False, dropout=False,
)  # fmt: skip
COUNT = parameters(SHAPE).total
TRAINING = Training(2048, 64, find_optimizer("adamw"), PRECISIONS["bf16"])
MEGATRON = replace(TRAINING, framework="megatron", fp32_gradients=True)

LAYOUTS = st.builds(
    ParallelLayout,
    devices=st.just(64),
    tensor=st.sampled_from([1, 2, 4]),
    pipeline=st.sampled_from([1, 2, 4]),
    micro_batch=st.integers(1, 8),
    sharding=st.sampled_from(list(Sharding)),
    checkpointing=st.sampled_from(list(Checkpointing)),
    sequence_parallel=st.booleans(),
)


def peak(layout: ParallelLayout, training: Training = TRAINING, subject: Subject = SHAPE) -> float:
    """Return the middle of the memory that the driver shows."""
    return float(estimate_memory(subject, training, Layouts.of(layout), CARD).driver.middle[0])


def parts(layout: ParallelLayout, training: Training = TRAINING, subject: Subject = SHAPE) -> dict[str, float]:
    """Return the parts of memory at the peak."""
    return estimate_memory(subject, training, Layouts.of(layout), CARD).breakdown(0)


@pytest.mark.parametrize(
    ("stage", "bytes_per_parameter"),
    [(Sharding.NONE, 16), (Sharding.ZERO1, 4 + 12 / 8), (Sharding.ZERO2, 2 + 14 / 8), (Sharding.ZERO3, 16 / 8)],
)
def test_model_states_follow_zero(stage: Sharding, bytes_per_parameter: float) -> None:
    """Mixed-precision Adam takes 16 bytes per parameter, divided as in the ZeRO paper."""
    cost = ModelCost("", "", "", 10**9, 0, 1.0, ())
    memory = parts(
        ParallelLayout(devices=8, sharding=stage), replace(TRAINING, optimizer=find_optimizer("adamw-fused")), cost
    )
    states = sum(memory[name] for name in ("weights", "gradients", "optimizer_states"))
    assert states == pytest.approx(bytes_per_parameter * 1e9)


def test_megatron_takes_18_bytes_per_parameter() -> None:
    """Weights take two bytes, gradients four, master copies and moments twelve."""
    memory = parts(ParallelLayout(), MEGATRON)
    states = sum(memory[name] for name in ("weights", "gradients", "optimizer_states"))
    assert states == pytest.approx(18 * COUNT)


def test_16_bit_training_keeps_16_bit_moments() -> None:
    """Weights, gradients and both moments take two bytes each."""
    training = replace(TRAINING, precision=PRECISIONS["bf16-pure"], global_batch=2)
    memory = parts(ParallelLayout(), training)
    assert sum(memory[name] for name in ("weights", "gradients", "optimizer_states")) == pytest.approx(8 * COUNT)


def test_gradients_are_not_part_of_the_peak_without_accumulation() -> None:
    """Without accumulation the peak of large activations is before the gradients are allocated."""
    training = replace(TRAINING, global_batch=8)
    assert "gradients" not in parts(ParallelLayout(micro_batch=8), training)
    assert parts(ParallelLayout(micro_batch=8), replace(training, global_batch=16))["gradients"] == pytest.approx(
        2 * COUNT
    )


@given(LAYOUTS)
def test_parts_add_up(layout: ParallelLayout) -> None:
    """The parts sum to the total, and allocated ≤ reserved ≤ driver memory."""
    memory = estimate_memory(SHAPE, MEGATRON, Layouts.of(layout), CARD)
    assert sum(memory.breakdown(0).values()) == pytest.approx(memory.driver.middle[0])
    assert memory.allocated[0].middle <= memory.reserved[0].middle <= memory.driver[0].middle
    assert memory.driver[0].low <= memory.driver[0].middle <= memory.driver[0].high


def test_light_checkpointing_is_between_none_and_full() -> None:
    """In memory and in time, light checkpointing of DeepSeek-V3 lies between storing everything and whole layers."""
    shape = named_shape("deepseek-v3")
    training = Training(4096, 15_360, find_optimizer("adamw"), PRECISIONS["fp8"], framework="megatron")
    layout = ParallelLayout(2048, pipeline=16, interleave=2, expert=64, sharding=Sharding.ZERO1)
    kinds = (Checkpointing.NONE, Checkpointing.LIGHT, Checkpointing.FULL)
    layouts = Layouts.of(*(replace(layout, checkpointing=each) for each in kinds))
    none, light, full = estimate_memory(shape, training, layouts, find_device("H800")).driver.middle
    assert full < 0.5 * light < 0.5 * none
    step = estimate_step(shape, training, layouts, machine("H800", 2048))
    stored, lightly, again = step.middle
    assert stored < lightly < 1.1 * stored < again
    once, lightly, again = step.parts.expert
    assert lightly <= once < again  # what light checkpointing computes again needs no other rank


def test_every_stage_of_an_interleaved_pipeline_stores_activations() -> None:
    """The last stage, which has the output layer, stores half of the micro-batches' activations of two chunks."""
    layouts = Layouts.of(*(ParallelLayout(32, pipeline=8, interleave=each, tensor=4) for each in (1, 2)))
    stages = pipeline_stages(anatomy(named_shape("llama-2-70b")), layouts, layouts.micro_batches(256))
    assert [each.in_flight.tolist() for each in stages] == [[8.0, 11.5], [7.0, 10.5], [1.0, 4.5]]


@given(LAYOUTS)
def test_memory_grows_with_the_micro_batch(layout: ParallelLayout) -> None:
    """A larger micro-batch never takes less memory."""
    assert peak(replace(layout, micro_batch=2 * layout.micro_batch), MEGATRON) >= peak(layout, MEGATRON) * 0.999


@given(LAYOUTS)
def test_checkpointing_never_adds_much(layout: ParallelLayout) -> None:
    """Checkpointing takes at most the memory of one recomputed layer in addition."""
    kept = [peak(replace(layout, checkpointing=kind), MEGATRON) for kind in (Checkpointing.NONE, Checkpointing.FULL)]
    one_layer = layout.micro_batch * 2048 * 2048 * 100
    assert kept[1] <= kept[0] + one_layer


def test_columns_equal_single_layouts() -> None:
    """Estimating many layouts at once gives the same as estimating each separately."""
    layouts = [ParallelLayout(devices=16, tensor=tensor, micro_batch=batch) for tensor in (1, 2, 4) for batch in (1, 3)]
    together = estimate_memory(SHAPE, TRAINING, Layouts.of(*layouts), CARD).driver.middle
    assert together == pytest.approx([peak(layout) for layout in layouts])


def test_the_first_stage_holds_the_peak_of_a_deep_pipeline() -> None:
    """Under 1F1B the first stage keeps one micro-batch per stage, the last stage only one."""
    layout = ParallelLayout(devices=8, pipeline=8, micro_batch=2)
    memory = estimate_memory(SHAPE, MEGATRON, Layouts.of(layout), CARD)
    assert memory.stage[0] == "first"
    undivided = parts(replace(layout, pipeline=1, devices=1), MEGATRON)["activations"]
    assert parts(layout, MEGATRON)["activations"] == pytest.approx(undivided, rel=0.01)


def test_interleaving_costs_activations() -> None:
    """Model chunks add (p - 1)/(p v) of the first stage's activations."""
    layout = ParallelLayout(devices=4, pipeline=4, micro_batch=2)
    plain = parts(layout, MEGATRON)["activations"]
    assert parts(replace(layout, interleave=2), MEGATRON)["activations"] == pytest.approx(plain * (1 + 3 / 8))


def test_logits_belong_to_the_loss() -> None:
    """With a large vocabulary the peak is at the loss; a fused loss lowers it."""
    shape = replace(SHAPE, vocab=512_000, layers=4)
    memory = estimate_memory(shape, TRAINING, Layouts.of(ParallelLayout(micro_batch=8)), CARD)
    assert memory.moment[0] == "loss"
    chunked = peak(ParallelLayout(micro_batch=8), replace(TRAINING, fused_loss=True), shape)
    assert memory.driver.middle[0] - chunked > 2048 * 8 * 512_000 * 4


@pytest.mark.parametrize("method", [Method.LORA, Method.QLORA])
def test_lora_has_few_optimizer_states(method: Method) -> None:
    """Frozen weights have no optimizer states; 4-bit weights take about a quarter of 16-bit weights."""
    training = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=method, lora=Lora(8, ("q", "v")))
    memory = parts(ParallelLayout(), training)
    assert memory.get("optimizer_states", 0.0) < 0.02 * COUNT
    ends = 2 * SHAPE.vocab * SHAPE.hidden
    products = COUNT - ends
    frozen = 2 * COUNT if method is Method.LORA else 2 * ends + 0.516 * products
    assert memory["weights"] == pytest.approx(frozen, rel=0.01)


def test_expert_parallelism_divides_only_experts() -> None:
    """With expert parallelism over 8 ranks a rank holds an eighth of the experts and all other weights."""
    shape = replace(SHAPE, experts=Experts(count=8, active=2, ffn=5632))
    together = parts(ParallelLayout(devices=8), MEGATRON, shape)["weights"]
    spread = parts(ParallelLayout(devices=8, expert=8), MEGATRON, shape)["weights"]
    experts = 2 * parameters(shape).experts
    assert together - spread == pytest.approx(experts * 7 / 8)


def test_tensor_parallel_ranks_share_the_states_of_complete_experts() -> None:
    """Of 64 ranks, eight hold each expert, whether they are tensor-parallel or not, and share its optimizer states."""
    shape = replace(SHAPE, experts=Experts(count=8, active=2, ffn=5632))
    alone, divided = (
        parts(ParallelLayout(devices=64, tensor=tensor, expert=8, sharding=Sharding.ZERO1), MEGATRON, shape)
        for tensor in (1, 4)
    )
    assert divided["optimizer_states"] == pytest.approx(alone["optimizer_states"], rel=0.01)


@given(LAYOUTS, st.sampled_from(list(Method)), st.sampled_from([1, 4, 8]))
def test_every_estimate_is_finite(layout: ParallelLayout, method: Method, expert: int) -> None:
    """For any combination the memory is positive and finite."""
    shape = replace(SHAPE, experts=Experts(count=8, active=2, ffn=5632))
    training = replace(TRAINING, method=method, lora=Lora(8, ("all-linear",)))
    memory = estimate_memory(shape, training, Layouts.of(replace(layout, expert=expert)), CARD)
    assert 0 < memory.driver[0].low <= memory.driver[0].high < np.inf


def test_materialised_attention_keeps_its_scores() -> None:
    """Scores grow with the square of the sequence length; selective checkpointing drops them."""
    training = replace(MEGATRON, attention=Attention.MATERIALISED)
    scores = parts(ParallelLayout(), training)["activations"] - parts(ParallelLayout(), MEGATRON)["activations"]
    assert scores >= 24 * 16 * 2048**2 * 2
    selective = ParallelLayout(checkpointing=Checkpointing.SELECTIVE)
    assert parts(selective, training)["activations"] == pytest.approx(parts(ParallelLayout(), MEGATRON)["activations"])


def test_offloaded_states_are_not_on_the_device() -> None:
    """States in host memory do not count for the device."""
    assert "optimizer_states" not in parts(ParallelLayout(offload=Offload.OPTIMIZER), MEGATRON)
    sharded = ParallelLayout(devices=8, sharding=Sharding.ZERO3, offload=Offload.PARAMETERS)
    assert not {"weights", "gradients"} & set(parts(sharded))
    assert parts(sharded)["gathered_weights"] > 0


def test_unsharded_gradients_are_counted() -> None:
    """Sharded training that accumulates before it divides gradients holds all of them."""
    layout = ParallelLayout(devices=8, sharding=Sharding.ZERO3)
    more = peak(layout, replace(TRAINING, gradients_unsharded=True)) - peak(layout)
    assert more > COUNT


def test_the_key_value_cache_is_counted() -> None:
    """A cached token takes a key and a value per key-value head and layer."""
    memory = parts(ParallelLayout(), replace(TRAINING, cached_tokens=1000))
    assert memory["key_value_cache"] == 1000 * 24 * 2 * 2 * 4 * 128


def test_fragmentation_raises_only_the_upper_end() -> None:
    """The share of fragmentation changes neither the middle nor the lower end."""
    layouts = Layouts.of(ParallelLayout(micro_batch=8))
    compact, fragmented = (
        estimate_memory(SHAPE, TRAINING, layouts, CARD, Constants(fragmentation_share=share)) for share in (0.0, 0.5)
    )
    assert (compact.driver.middle, compact.driver.low) == (fragmented.driver.middle, fragmented.driver.low)
    assert fragmented.driver.high[0] > compact.driver.high[0]


def test_the_uncertainty_is_at_least_a_segment() -> None:
    """Memory is reserved in segments of 2 MiB, so an estimate is not more precise than that."""
    cost = ModelCost("", "", "", 1000, 0, 1.0, (ModelBlock("layer", 1, 1000, (), kept_elements=100),))
    training = Training(1, 32, find_optimizer("sgd"), PRECISIONS["fp32"])
    on_gpu = estimate_memory(cost, training, Layouts.of(ParallelLayout(micro_batch=32)), CARD)
    assert on_gpu.reserved.high[0] - on_gpu.reserved.middle[0] >= SMALL_SEGMENT
    assert on_gpu.reserved.middle[0] - on_gpu.reserved.low[0] >= min(SMALL_SEGMENT, on_gpu.reserved.middle[0])
    on_host = estimate_memory(
        cost, training, Layouts.of(ParallelLayout(micro_batch=32)), replace(CARD, kind=DeviceKind.CPU)
    )
    assert on_host.reserved.high[0] - on_host.reserved.middle[0] < SMALL_SEGMENT


def test_memory_outside_the_allocator_has_parts() -> None:
    """The context and, with several devices, the collectives library are separate parts."""
    alone, together = (
        estimate_memory(SHAPE, TRAINING, Layouts.of(ParallelLayout(devices=devices)), CARD).outside
        for devices in (1, 8)
    )
    assert alone["device_context"][0] > 0
    assert alone["collectives_library"][0] == 0 < together["collectives_library"][0]


def test_the_sequence_of_a_vision_transformer_is_its_patches() -> None:
    """The training's sequence length does not affect a vision transformer."""
    vision = replace(
        SHAPE,
        kind=TransformerKind.VISION,
        vocab=0,
        head=Head.CLASSIFIER,
        patches=Patches(image=224, patch=16),
        gated=False,
    )
    one, many = (
        parts(ParallelLayout(micro_batch=512), replace(TRAINING, sequence=tokens), vision) for tokens in (1, 4096)
    )
    assert one == many
    assert one["activations"] > 0


def test_networks_are_estimated_by_their_blocks() -> None:
    """The activations of a network are those that its blocks keep, times the batch."""
    cost = ModelCost("", "", "", 10**6, 0, 1.0, (ModelBlock("layer", 10, 10**5, (), kept_elements=10**6),))
    training = Training(1, 32, find_optimizer("sgd"), PRECISIONS["fp32"])
    assert parts(ParallelLayout(micro_batch=32), training, cost)["activations"] == 10 * 10**6 * 32 * 4


def test_classical_models_hold_their_working_set() -> None:
    """A model without gradients has only parameters and the working set."""
    cost = ModelCost("", "", "", 1000, 0, 1.0, (), working_bytes=5e9, trained_by_gradient=False)
    host = replace(CARD, kind=DeviceKind.CPU)
    memory = estimate_memory(cost, TRAINING, Layouts.of(ParallelLayout()), host)
    assert memory.parts["working"][0] == 5e9
    assert memory.allocator_cache[0] == 0  # array libraries return freed memory to the system
    assert not any(column.any() for column in memory.outside.values())


def test_ten_thousand_layouts_are_estimated_at_once() -> None:
    """A search estimates all candidates at once, and every layout gets a finite value."""
    layouts = Layouts.of(*[ParallelLayout(devices=64, micro_batch=1 + each % 8) for each in range(10_000)])
    memory = estimate_memory(SHAPE, TRAINING, layouts, CARD)
    assert len(memory) == 10_000
    assert np.isfinite(memory.driver.high).all()


def test_a_compiled_loss_has_no_fp32_logits() -> None:
    """A logit takes four instead of twelve bytes: the logit and its gradient in 16 bits."""
    shape = replace(SHAPE, vocab=512_000, layers=4)
    plain = parts(ParallelLayout(micro_batch=8), TRAINING, shape)["logits"]
    compiled = parts(ParallelLayout(micro_batch=8), replace(TRAINING, compiled_loss=True), shape)["logits"]
    assert compiled == pytest.approx(plain / 3)


def test_pytorch_keeps_gathered_inputs() -> None:
    """Megatron keeps inputs of products divided over tensor ranks; PyTorch keeps them gathered."""
    layout = ParallelLayout(devices=8, tensor=8, micro_batch=4, sequence_parallel=True)
    pytorch = replace(TRAINING, compiled=True)  # fused norms, as in Megatron
    more = parts(layout, pytorch)["activations"] - parts(layout, replace(pytorch, framework="megatron"))["activations"]
    inputs = 2 * 2 * SHAPE.hidden * 4 * TRAINING.sequence * SHAPE.layers  # of two blocks, in 16 bits
    assert more == pytest.approx(inputs * 7 / 8)


def test_early_maps_do_not_meet_all_activations() -> None:
    """The gradients of a network's large first maps exist when the later blocks are already freed."""
    blocks = tuple(ModelBlock(f"{at}", 1, 10, (), kept_elements=10.0 ** (7 - at)) for at in range(4))
    cost = ModelCost("", "", "", 40, 0, 1.0, blocks)
    memory = parts(ParallelLayout(micro_batch=32), Training(1, 32, find_optimizer("sgd"), PRECISIONS["fp32"]), cost)
    assert memory["activations"] == 10**7 * 32 * 4
    assert memory["working"] == 10**7 * 32 * 4


def test_gradients_may_persist_between_steps() -> None:
    """Before PyTorch 2 zero_grad kept gradients allocated, so they exist at the loss; a layer is less certain."""
    training = replace(TRAINING, global_batch=8)
    plain, kept = (
        estimate_memory(SHAPE, each, Layouts.of(ParallelLayout(micro_batch=8)), CARD)
        for each in (training, replace(training, gradients_persist=True))
    )
    assert kept.parts["gradients"][0] - plain.parts["gradients"][0] == pytest.approx(2 * COUNT)
    assert kept.allocated[0].high / kept.allocated[0].middle > plain.allocated[0].high / plain.allocated[0].middle


def test_what_parts_leave_out_is_a_part() -> None:
    """A share of all tensors is added as other tensors, and is as uncertain as it is large."""
    none, some = (
        estimate_memory(SHAPE, TRAINING, Layouts.of(ParallelLayout()), CARD, Constants(omitted_share=share))
        for share in (0.0, 0.05)
    )
    assert some.parts["other_tensors"][0] == pytest.approx(0.05 * none.allocated.middle[0])
    assert some.allocated.middle[0] == pytest.approx(1.05 * none.allocated.middle[0])
