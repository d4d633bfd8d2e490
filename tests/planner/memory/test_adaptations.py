"""Tests of proposing LoRA and QLoRA where training all weights does not fit."""

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.adaptations import adaptations
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Checkpointing, Lora, Method, Sharding, Training

CARD = find_device("RTX 4090")
TRAINING = Training(2048, 8, find_optimizer("adamw"), PRECISIONS["bf16"])
LLAMA = named_shape("llama-3.1-8b")


def test_lora_and_qlora_are_proposed_with_their_memory() -> None:
    """Llama 3.1 8B does not fit on a card of 24 GB; QLoRA does, and its figure is the estimate of that training."""
    layout = ParallelLayout()
    assert fits(estimate_memory(LLAMA, TRAINING, Layouts.of(layout), CARD))[0] is Fit.NO
    lora, qlora = adaptations(LLAMA, TRAINING, layout, CARD)
    assert (lora.training.method, qlora.training.method) == (Method.LORA, Method.QLORA)
    assert qlora.fit is Fit.YES
    again = estimate_memory(LLAMA, qlora.training, Layouts.of(qlora.layout), CARD).driver.middle[0]
    assert qlora.needed_bytes == again
    assert lora.saved_bytes < qlora.saved_bytes


def test_the_nearest_layout_that_fits_is_chosen() -> None:
    """The layout changes only as far as needed, and the words name each change."""
    roomy = adaptations(named_shape("llama-3.2-1b"), TRAINING, ParallelLayout(), CARD)[1]
    assert (roomy.fit, roomy.also) == (Fit.YES, ())
    tight = adaptations(LLAMA, TRAINING, ParallelLayout(micro_batch=8), CARD)[1]
    assert tight.fit is Fit.YES
    assert tight.also
    assert tight.layout.checkpointing is Checkpointing.FULL or tight.layout.micro_batch == 1


def test_a_tpu_is_not_offered_4_bit_weights() -> None:
    """bitsandbytes has no kernels for TPUs, so only LoRA is proposed."""
    (found,) = adaptations(LLAMA, TRAINING, ParallelLayout(), find_device("TPU v5e"))
    assert found.training.method is Method.LORA


def test_several_devices_may_share_frozen_weights() -> None:
    """If even QLoRA needs more than a device, the weights are sharded over the replicas."""
    found = adaptations(named_shape("llama-3.1-405b"), TRAINING, ParallelLayout(devices=8), find_device("H100_80GB"))
    assert found[1].fit is Fit.YES
    assert found[1].layout.sharding is Sharding.ZERO3


def test_a_training_of_additions_only_gets_fewer_bits() -> None:
    """A LoRA training is only offered 4-bit weights, with its own rank; QLoRA and other models get nothing."""
    lora = replace(TRAINING, method=Method.LORA, lora=Lora(32))
    (found,) = adaptations(LLAMA, lora, ParallelLayout(), CARD)
    assert found.training.lora == Lora(32)
    assert "rank 32" in found.what
    assert adaptations(LLAMA, replace(lora, method=Method.QLORA), ParallelLayout(), CARD) == []
    assert adaptations(ModelCost("", "", "", 10, 0, 1.0, ()), TRAINING, ParallelLayout(), CARD) == []


def test_the_loss_in_chunks_is_one_of_the_changes() -> None:
    """If the logits of a large vocabulary need too much memory, the loss is computed in chunks."""
    long = replace(TRAINING, sequence=16_384)
    found = adaptations(LLAMA, long, ParallelLayout(checkpointing=Checkpointing.FULL), CARD)[1]
    assert found.training.fused_loss
    assert "the loss in chunks (fused cross entropy)" in found.also
