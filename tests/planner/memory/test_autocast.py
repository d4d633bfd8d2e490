"""Tests of the memory of torch.autocast over fp32 weights."""

import numpy as np
import pytest
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.autocast import CastWeights, weight_copies
from flyball_planner.memory.constants import GIB
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.models.cost import ModelBlock, ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.kept_activations import kept_bytes, kept_bytes_autocast
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.quantisation import quantisation
from flyball_planner.training import Attention, Checkpointing, Method, Sharding, Training

CARD = ComputeDevice("card", DeviceKind.GPU, "maker", "kind", 80 * GIB, 2e12, {})
BERT = TransformerShape(
    TransformerKind.ENCODER, 24, 1024, 16, 4096, 30_522, 16, 64, max_positions=512, final_norm=False, type_vocab=2
)
TRAINING = Training(512, 4, find_optimizer("adamw"), PRECISIONS["fp16-autocast"], attention=Attention.MATERIALISED)


def parts(layout: ParallelLayout, training: Training = TRAINING) -> dict[str, float]:
    """Return the parts of memory at the peak of BERT-large."""
    return estimate_memory(BERT, training, Layouts.of(layout), CARD).breakdown(0)


def test_weights_exist_in_both_widths() -> None:
    """The fp32 weights take four bytes each; their 16-bit copies two, without the embedding's tables and norms."""
    memory = parts(ParallelLayout(micro_batch=4))
    counts = parameters(BERT)
    tables = BERT.max_positions * BERT.hidden + 2 * BERT.hidden
    assert memory["weights"] == pytest.approx(4 * counts.total)
    assert memory["cast_weights"] == pytest.approx(2 * (counts.total - tables), rel=0.01)


def test_full_checkpointing_leaves_copies_only_until_the_loss() -> None:
    """With full checkpointing a layer's backward pass needs the copies of that layer alone."""
    memory = estimate_memory(
        BERT,
        replace(TRAINING, global_batch=8),
        Layouts.of(ParallelLayout(micro_batch=1, checkpointing=Checkpointing.FULL)),
        CARD,
    )
    assert memory.parts["cast_weights"][0] in {0.0, 2.0 * parameters(BERT).layer} or memory.moment[0] == "loss"


def test_fully_sharded_training_gathers_instead_of_casting() -> None:
    """FSDP's mixed precision gathers 16-bit weights, so that it has no copies beside the gathered ones."""
    memory = parts(ParallelLayout(devices=8, sharding=Sharding.ZERO3, micro_batch=4))
    assert "cast_weights" not in memory
    assert memory["gathered_weights"] > 0


def test_a_network_keeps_copies_too() -> None:
    """A network of blocks under autocast has 16-bit copies of all its weights in the backward pass."""
    cost = ModelCost("", "", "", 10**8, 0, 1.0, (ModelBlock("layer", 10, 10**7, (), kept_elements=10**7),))
    training = Training(1, 32, find_optimizer("sgd"), PRECISIONS["fp16-autocast"])
    memory = estimate_memory(cost, training, Layouts.of(ParallelLayout(micro_batch=32)), CARD).breakdown(0)
    assert memory["cast_weights"] == 2 * 10**8


def test_autocast_keeps_more_than_pure_16_bits_and_less_than_fp32() -> None:
    """Norms, softmax and the residual stream stay in fp32, so a layer keeps less than in fp32, but not half of it."""
    narrow, wide = (
        kept_bytes(BERT, 512, attention=Attention.MATERIALISED, number_bytes=each).total for each in (2.0, 4.0)
    )
    cast = kept_bytes_autocast(BERT, 512, attention=Attention.MATERIALISED).total
    assert narrow < cast < wide
    assert kept_bytes_autocast(BERT, 512).boundary == 4.0 * 512 * BERT.hidden


def frozen(layout: ParallelLayout, few: str = "", *, output: bool = False) -> MemoryEstimate:
    """Return the memory of BERT-large under autocast with LoRA over fp32 weights or over weights in few bits."""
    training = replace(
        TRAINING, method=Method.LORA, quantisation=quantisation(few, output=output) if few else None, global_batch=8
    )
    return estimate_memory(BERT, training, Layouts.of(layout), CARD)


def cast_at_the_loss(layout: ParallelLayout, few: str = "", *, output: bool = False) -> float:
    """Return the copies at the loss of the same."""
    training = replace(TRAINING, method=Method.LORA, quantisation=quantisation(few, output=output) if few else None)
    cast = CastWeights(np.array([1e8]), np.array([3e7]), np.array([4e6]))
    return float(weight_copies(training, Layouts.of(layout), cast)[0][0])


def test_frozen_weights_are_cast_again_instead_of_cached() -> None:
    """The graph holds the copies of frozen fp32 weights, so that with full checkpointing only the output's is left."""
    checkpointed = ParallelLayout(checkpointing=Checkpointing.FULL)
    assert cast_at_the_loss(ParallelLayout()) == 2 * 1.3e8
    assert cast_at_the_loss(checkpointed) == 2 * 3e7


def test_weights_in_few_bits_have_no_copies() -> None:
    """Autocast copies fp32 weights alone: of a quantised model those are at most the output's."""
    assert cast_at_the_loss(ParallelLayout(), "nf4") == 2 * 3e7
    assert cast_at_the_loss(ParallelLayout(), "nf4", output=True) == 0.0
    assert frozen(ParallelLayout(micro_batch=4), "nf4").parts["cast_weights"][0] <= 2 * BERT.vocab * BERT.hidden
