"""What a training takes on its fullest device."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.memory.allocator import SMALL_SEGMENT
from flyball_planner.memory.constants import GIB, Constants
from flyball_planner.memory.estimate import Subject, estimate_memory
from flyball_planner.models.cost import Block, ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import Experts, Head, Kind, Norm, Patches, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Attention, Checkpointing, Lora, Method, Offload, Sharding, Training

CARD = Device("card", DeviceKind.GPU, "maker", "kind", 80 * GIB, 2e12, {})
SHAPE = TransformerShape(
    kind=Kind.DECODER, layers=24, hidden=2048, heads=16, ffn=5632, vocab=32_000, kv_heads=4, head_dim=128, gated=True,
    tied=False, norm=Norm.RMS, norm_bias=False, qkv_bias=False, attention_output_bias=False, ffn_bias=False,
    dropout=False,
)  # fmt: skip
COUNT = parameters(SHAPE).total
TRAINING = Training(2048, 64, find_optimizer("adamw"), PRECISIONS["bf16"])
MEGATRON = replace(TRAINING, framework="megatron", fp32_gradients=True)

LAYOUTS = st.builds(
    Layout,
    devices=st.just(64),
    tensor=st.sampled_from([1, 2, 4]),
    pipeline=st.sampled_from([1, 2, 4]),
    micro_batch=st.integers(1, 8),
    sharding=st.sampled_from(list(Sharding)),
    checkpointing=st.sampled_from(list(Checkpointing)),
    sequence_parallel=st.booleans(),
)


def peak(layout: Layout, training: Training = TRAINING, subject: Subject = SHAPE) -> float:
    """The middle of what the driver shows."""
    return float(estimate_memory(subject, training, Layouts.of(layout), CARD).driver.middle[0])


def parts(layout: Layout, training: Training = TRAINING, subject: Subject = SHAPE) -> dict[str, float]:
    """The parts at the peak."""
    return estimate_memory(subject, training, Layouts.of(layout), CARD).breakdown(0)


@pytest.mark.parametrize(
    ("stage", "bytes_a_parameter"),
    [(Sharding.NONE, 16), (Sharding.ZERO1, 4 + 12 / 8), (Sharding.ZERO2, 2 + 14 / 8), (Sharding.ZERO3, 16 / 8)],
)
def test_model_states_follow_zero(stage: Sharding, bytes_a_parameter: float) -> None:
    """Mixed-precision Adam takes 16 bytes a parameter, divided as the ZeRO paper says."""
    cost = ModelCost("", "", "", 10**9, 0, 1.0, ())
    told = parts(Layout(devices=8, sharding=stage), replace(TRAINING, optimizer=find_optimizer("adamw-fused")), cost)
    states = sum(told[name] for name in ("weights", "gradients", "optimizer_states"))
    assert states == pytest.approx(bytes_a_parameter * 1e9)


def test_megatron_takes_18_bytes_a_parameter() -> None:
    """Weights in two bytes, gradients in four, copies and moments in twelve."""
    told = parts(Layout(), MEGATRON)
    states = sum(told[name] for name in ("weights", "gradients", "optimizer_states"))
    assert states == pytest.approx(18 * COUNT)


def test_16_bit_training_keeps_16_bit_moments() -> None:
    """Weights, gradients and both moments take two bytes each."""
    training = replace(TRAINING, precision=PRECISIONS["bf16-pure"], global_batch=2)
    told = parts(Layout(), training)
    assert sum(told[name] for name in ("weights", "gradients", "optimizer_states")) == pytest.approx(8 * COUNT)


def test_gradients_are_not_there_when_the_loss_is() -> None:
    """Without accumulation the peak of large activations comes before the gradients stand."""
    training = replace(TRAINING, global_batch=8)
    assert "gradients" not in parts(Layout(micro_batch=8), training)
    assert parts(Layout(micro_batch=8), replace(training, global_batch=16))["gradients"] == pytest.approx(2 * COUNT)


@given(LAYOUTS)
def test_parts_add_up(layout: Layout) -> None:
    """The breakdown is the whole; intervals rise; tensors lie within what is reserved, and that within the driver's."""
    told = estimate_memory(SHAPE, MEGATRON, Layouts.of(layout), CARD)
    assert sum(told.breakdown(0).values()) == pytest.approx(told.driver.middle[0])
    assert told.allocated[0].middle <= told.reserved[0].middle <= told.driver[0].middle
    assert told.driver[0].low <= told.driver[0].middle <= told.driver[0].high


@given(LAYOUTS)
def test_a_larger_micro_batch_takes_no_less(layout: Layout) -> None:
    """Memory grows with the micro-batch where nothing else changes."""
    assert peak(replace(layout, micro_batch=2 * layout.micro_batch), MEGATRON) >= peak(layout, MEGATRON) * 0.999


@given(LAYOUTS)
def test_checkpointing_never_adds_much(layout: Layout) -> None:
    """Keeping less takes no more, but for the one layer that is computed again."""
    kept = [peak(replace(layout, checkpointing=kind), MEGATRON) for kind in (Checkpointing.NONE, Checkpointing.FULL)]
    one_layer = layout.micro_batch * 2048 * 2048 * 100
    assert kept[1] <= kept[0] + one_layer


def test_columns_equal_single_layouts() -> None:
    """Many layouts at once give what each gives alone."""
    layouts = [Layout(devices=16, tensor=tensor, micro_batch=batch) for tensor in (1, 2, 4) for batch in (1, 3)]
    together = estimate_memory(SHAPE, TRAINING, Layouts.of(*layouts), CARD).driver.middle
    assert together == pytest.approx([peak(layout) for layout in layouts])


def test_the_first_stage_holds_the_peak_of_a_deep_pipeline() -> None:
    """Under 1F1B the first stage keeps as many micro-batches as there are stages, the last one."""
    layout = Layout(devices=8, pipeline=8, micro_batch=2)
    told = estimate_memory(SHAPE, MEGATRON, Layouts.of(layout), CARD)
    assert told.stage[0] == "first"
    whole = parts(replace(layout, pipeline=1, devices=1), MEGATRON)["activations"]
    assert parts(layout, MEGATRON)["activations"] == pytest.approx(whole, rel=0.01)


def test_interleaving_costs_activations() -> None:
    """Model chunks add (p - 1)/(p v) of the first stage's activations."""
    layout = Layout(devices=8, pipeline=8, micro_batch=2)
    plain = parts(layout, MEGATRON)["activations"]
    assert parts(replace(layout, interleave=2), MEGATRON)["activations"] == pytest.approx(plain * (1 + 7 / 16))


def test_logits_stand_where_the_output_is() -> None:
    """A large vocabulary moves the peak to the loss; a loss in chunks lowers it."""
    shape = replace(SHAPE, vocab=512_000, layers=4)
    told = estimate_memory(shape, TRAINING, Layouts.of(Layout(micro_batch=8)), CARD)
    assert told.moment[0] == "loss"
    chunked = peak(Layout(micro_batch=8), replace(TRAINING, fused_loss=True), shape)
    assert told.driver.middle[0] - chunked > 2048 * 8 * 512_000 * 4


@pytest.mark.parametrize("method", [Method.LORA, Method.QLORA])
def test_low_rank_additions_train_little(method: Method) -> None:
    """States of the frozen weights vanish; four-bit weights take about a quarter of sixteen-bit ones."""
    training = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=method, lora=Lora(8, ("q", "v")))
    told = parts(Layout(), training)
    assert told.get("optimizer_states", 0.0) < 0.02 * COUNT
    ends = 2 * SHAPE.vocab * SHAPE.hidden
    products = COUNT - ends
    frozen = 2 * COUNT if method is Method.LORA else 2 * ends + 0.516 * products
    assert told["weights"] == pytest.approx(frozen, rel=0.01)


def test_experts_are_held_by_their_ranks() -> None:
    """Expert parallelism divides experts alone, and sharding the rest of what a rank then holds."""
    shape = replace(SHAPE, experts=Experts(count=8, active=2, ffn=5632))
    whole = parts(Layout(devices=8), MEGATRON, shape)["weights"]
    spread = parts(Layout(devices=8, expert=8), MEGATRON, shape)["weights"]
    experts = 2 * parameters(shape).experts
    assert whole - spread == pytest.approx(experts * 7 / 8)


@given(LAYOUTS, st.sampled_from(list(Method)), st.sampled_from([1, 4, 8]))
def test_every_estimate_is_a_figure(layout: Layout, method: Method, expert: int) -> None:
    """Whatever is combined, memory is positive and the interval rises."""
    shape = replace(SHAPE, experts=Experts(count=8, active=2, ffn=5632))
    training = replace(TRAINING, method=method, lora=Lora(8, ("all-linear",)))
    told = estimate_memory(shape, training, Layouts.of(replace(layout, expert=expert)), CARD)
    assert 0 < told.driver[0].low <= told.driver[0].high < np.inf


def test_materialised_attention_keeps_scores() -> None:
    """Scores grow with the square of the sequence, and selective checkpointing drops them."""
    training = replace(MEGATRON, attention=Attention.MATERIALISED)
    scores = parts(Layout(), training)["activations"] - parts(Layout(), MEGATRON)["activations"]
    assert scores >= 24 * 16 * 2048**2 * 2
    selective = Layout(checkpointing=Checkpointing.SELECTIVE)
    assert parts(selective, training)["activations"] == pytest.approx(parts(Layout(), MEGATRON)["activations"])


def test_offload_leaves_the_device() -> None:
    """States in the host's memory are no part of the device's."""
    assert "optimizer_states" not in parts(Layout(offload=Offload.OPTIMIZER), MEGATRON)
    sharded = Layout(devices=8, sharding=Sharding.ZERO3, offload=Offload.PARAMETERS)
    assert not {"weights", "gradients"} & set(parts(sharded))
    assert parts(sharded)["gathered_weights"] > 0


def test_gradients_that_stand_whole_are_counted() -> None:
    """Sharded training that adds up micro-batches before it divides holds all gradients."""
    layout = Layout(devices=8, sharding=Sharding.ZERO3)
    more = peak(layout, replace(TRAINING, gradients_whole=True)) - peak(layout)
    assert more > COUNT


def test_keys_and_values_for_sampling_are_a_part() -> None:
    """Cached tokens take two numbers of each key-value head and layer."""
    told = parts(Layout(), replace(TRAINING, cached_tokens=1000))
    assert told["key_value_cache"] == 1000 * 24 * 2 * 2 * 4 * 128


def test_fragmentation_widens_the_upper_end_alone() -> None:
    """Its share moves neither the middle nor the lower end."""
    layouts = Layouts.of(Layout(micro_batch=8))
    calm, torn = (
        estimate_memory(SHAPE, TRAINING, layouts, CARD, Constants(fragmentation_share=share)) for share in (0.0, 0.5)
    )
    assert (calm.driver.middle, calm.driver.low) == (torn.driver.middle, torn.driver.low)
    assert torn.driver.high[0] > calm.driver.high[0]


def test_a_small_model_is_as_uncertain_as_a_segment() -> None:
    """The driver gives memory in whole segments of 2 MiB: nothing that is reserved is known better than that."""
    cost = ModelCost("", "", "", 1000, 0, 1.0, (Block("layer", 1, 1000, (), kept_elements=100),))
    training = Training(1, 32, find_optimizer("sgd"), PRECISIONS["fp32"])
    held = estimate_memory(cost, training, Layouts.of(Layout(micro_batch=32)), CARD)
    assert held.reserved.high[0] - held.reserved.middle[0] >= SMALL_SEGMENT
    assert held.reserved.middle[0] - held.reserved.low[0] >= min(SMALL_SEGMENT, held.reserved.middle[0])
    host = estimate_memory(cost, training, Layouts.of(Layout(micro_batch=32)), replace(CARD, kind=DeviceKind.CPU))
    assert host.reserved.high[0] - host.reserved.middle[0] < SMALL_SEGMENT


def test_what_lies_outside_is_named() -> None:
    """Context, workspaces and, with several devices, the library of collectives are told apart."""
    alone, together = (
        estimate_memory(SHAPE, TRAINING, Layouts.of(Layout(devices=devices)), CARD).outside for devices in (1, 8)
    )
    assert alone["device_context"][0] > 0
    assert alone["collectives_library"][0] == 0 < together["collectives_library"][0]


def test_images_tell_their_own_sequence() -> None:
    """A vision transformer's tokens are its patches, whatever the training says of sequences."""
    vision = replace(
        SHAPE, kind=Kind.VISION, vocab=0, head=Head.CLASSIFIER, patches=Patches(image=224, patch=16), gated=False
    )
    one, many = (parts(Layout(micro_batch=512), replace(TRAINING, sequence=tokens), vision) for tokens in (1, 4096))
    assert one == many
    assert one["activations"] > 0


def test_networks_are_estimated_by_their_blocks() -> None:
    """Activations of a network are what its blocks keep, times the batch."""
    cost = ModelCost("", "", "", 10**6, 0, 1.0, (Block("layer", 10, 10**5, (), kept_elements=10**6),))
    training = Training(1, 32, find_optimizer("sgd"), PRECISIONS["fp32"])
    assert parts(Layout(micro_batch=32), training, cost)["activations"] == 10 * 10**6 * 32 * 4


def test_classical_models_hold_what_they_work_on() -> None:
    """Without gradients there is nothing but parameters and the working set."""
    cost = ModelCost("", "", "", 1000, 0, 1.0, (), working_bytes=5e9, trained_by_gradient=False)
    host = replace(CARD, kind=DeviceKind.CPU)
    told = estimate_memory(cost, TRAINING, Layouts.of(Layout()), host)
    assert told.parts["working"][0] == 5e9
    assert told.allocator_cache[0] == 0  # what a library of arrays frees goes back to the system
    assert not any(column.any() for column in told.outside.values())


def test_ten_thousand_layouts_take_a_fraction_of_a_second() -> None:
    """A search asks for all candidates at once, and no column is left unfilled."""
    layouts = Layouts.of(*[Layout(devices=64, micro_batch=1 + each % 8) for each in range(10_000)])
    told = estimate_memory(SHAPE, TRAINING, layouts, CARD)
    assert len(told) == 10_000
    assert np.isfinite(told.driver.high).all()


def test_a_compiled_loss_never_has_logits_in_fp32() -> None:
    """Of twelve bytes a logit four are left: itself and its gradient in 16 bits."""
    shape = replace(SHAPE, vocab=512_000, layers=4)
    plain = parts(Layout(micro_batch=8), TRAINING, shape)["logits"]
    compiled = parts(Layout(micro_batch=8), replace(TRAINING, compiled_loss=True), shape)["logits"]
    assert compiled == pytest.approx(plain / 3)


def test_pytorch_keeps_what_tensor_ranks_gathered() -> None:
    """Megatron spreads the inputs of products over tensor ranks and gathers them again; PyTorch keeps them whole."""
    layout = Layout(devices=8, tensor=8, micro_batch=4, sequence_parallel=True)
    pytorch = replace(TRAINING, compiled=True)  # fused norms, as Megatron has them
    more = parts(layout, pytorch)["activations"] - parts(layout, replace(pytorch, framework="megatron"))["activations"]
    inputs = 2 * 2 * SHAPE.hidden * 4 * TRAINING.sequence * SHAPE.layers  # of two blocks, in 16 bits
    assert more == pytest.approx(inputs * 7 / 8)


def test_what_products_over_4_bits_keep_depends_on_their_library() -> None:
    """Torchao's keep nothing beside the weights: such a run takes less, by what adapters alone would keep too."""
    qlora = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=Method.QLORA, lora=Lora(8, ("q", "v")))
    bare = replace(qlora, quantised_outputs_kept=False)
    adapters = replace(qlora, method=Method.LORA)
    kept = [parts(Layout(micro_batch=4), each)["activations"] for each in (qlora, bare, adapters)]
    assert kept[0] > kept[1] == pytest.approx(kept[2])
