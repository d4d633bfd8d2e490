"""Tests of the ranks that exchange the states of dense weights and of experts."""

import numpy as np
import pytest
from msgspec.structs import replace

from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.transformer.shape import Experts, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, WIDTHS_BYTES
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.timing.state_work import dense_weights, expert_weights
from flyball_planner.timing.work_builder import build_work
from flyball_planner.training import Lora, Method, Sharding, Training

SHAPE = TransformerShape(
    TransformerKind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128, experts=Experts(count=64, active=2, ffn=8192)
)
DENSE = replace(SHAPE, experts=None)
TRAINING = Training(2048, 256, find_optimizer("adamw"))
CLUSTER = machine("H100 SXM", 64, network="3200 Gbps")
ONE = np.ones(1)


@pytest.mark.parametrize(
    ("layout", "dense", "experts"),
    [
        (ParallelLayout(64, expert=8), (64, 1), (8, 8)),
        (ParallelLayout(64, expert=64), (64, 1), (1, 64)),
        (ParallelLayout(64, tensor=4, pipeline=2, expert=8), (8, 4), (4, 8)),
        (ParallelLayout(64, tensor=4, pipeline=2), (8, 4), (8, 4)),
        (ParallelLayout(64, tensor=2, context=4), (32, 2), (32, 2)),
        (ParallelLayout(64, tensor=2, context=4, expert=8), (32, 2), (8, 8)),
        (ParallelLayout(64, tensor=2, pipeline=4, bidirectional=True, expert=8), (16, 2), (4, 8)),
    ],
)
def test_experts_are_held_by_fewer_ranks(
    layout: ParallelLayout, dense: tuple[int, int], experts: tuple[int, int]
) -> None:
    """Tensor-parallel ranks hold different experts, and each group of expert-parallel ranks holds every expert once."""
    layouts = Layouts.of(layout)
    for held, expected in ((dense_weights, dense), (expert_weights, experts)):
        copies = held(layouts, ONE, ONE, ONE).copies
        assert (copies.ranks[0], copies.stride[0]) == expected


def test_tensor_parallel_ranks_divide_experts_as_the_memory_does() -> None:
    """Without expert parallelism each rank updates its slice of all experts, and a single replica exchanges nothing."""
    layouts = Layouts.of(ParallelLayout(8), ParallelLayout(8, tensor=8), ParallelLayout(8, expert=8))
    work = build_work(SHAPE, TRAINING, layouts, CLUSTER)
    alone, sliced, spread = work.expert_states.updated_bytes
    assert sliced == pytest.approx(alone / 8)
    assert spread == pytest.approx(alone / 8)
    assert work.expert_states.group.ranks[1] == 1
    flops = work.body.products.flops
    assert flops[1] == pytest.approx(flops[0] / 8, rel=0.02)  # the router is not divided


def test_shards_of_experts_stay_in_their_group() -> None:
    """States that 16 ranks share leave two shards of each expert if eight ranks hold different experts."""
    assert expert_weights(Layouts.of(ParallelLayout(64, expert=8, shard_group=16)), ONE, ONE, ONE).shards[0] == 2
    assert expert_weights(Layouts.of(ParallelLayout(64, expert=32, shard_group=16)), ONE, ONE, ONE).shards[0] == 1


def test_experts_on_different_devices_exchange_no_weights() -> None:
    """Fully sharded experts are gathered if eight devices hold each of them, and never if only one does."""
    layouts = [ParallelLayout(64, expert=expert, sharding=Sharding.ZERO3) for expert in (8, 64)]
    work = build_work(SHAPE, TRAINING, Layouts.of(*layouts), CLUSTER)
    gathered = work.expert_states.gathered_bytes
    assert gathered[0] > 0
    assert gathered[1] == 0
    assert (work.states.gathered_bytes > 0).all()
    spread, alone = estimate_step(SHAPE, TRAINING, Layouts.of(*layouts), CLUSTER).parts.data
    assert spread > 3 * alone


def test_a_pipeline_of_both_directions_updates_two_stages() -> None:
    """A rank updates two stages, of which each micro-batch passes one; shards are divided among twice as many ranks."""
    for sharding, times in ((Sharding.NONE, 2), (Sharding.ZERO1, 1)):
        one = ParallelLayout(64, pipeline=4, expert=8, sharding=sharding)
        work = build_work(SHAPE, TRAINING, Layouts.of(one, replace(one, bidirectional=True)), CLUSTER)
        for states in (work.states, work.expert_states):
            assert states.updated_bytes[1] == times * states.updated_bytes[0]
            assert states.reduced_bytes[1] == 2 * states.reduced_bytes[0]
            assert states.accumulated_bytes[1] == states.accumulated_bytes[0]


def test_context_parallel_ranks_sum_their_gradients() -> None:
    """Ranks that see different parts of the same samples sum the gradients and share states as data-parallel ones."""
    layouts = Layouts.of(
        ParallelLayout(8, sharding=Sharding.ZERO1, micro_batch=8), ParallelLayout(8, context=8, sharding=Sharding.ZERO1)
    )
    states = build_work(DENSE, TRAINING, layouts, CLUSTER).states
    assert states.group.ranks.tolist() == [8, 8]
    assert states.updated_bytes[0] == states.updated_bytes[1]
    assert (estimate_step(DENSE, TRAINING, layouts, CLUSTER).parts.data > 0).all()


def test_an_untied_output_is_updated_too() -> None:
    """Without a pipeline, a device updates embedding and output; at the ends of a pipeline, each holds one of them."""
    layouts = Layouts.of(ParallelLayout(8), ParallelLayout(8, pipeline=8))
    tied, untied = (
        build_work(replace(DENSE, tied=tied), TRAINING, layouts, CLUSTER).states.returned_bytes
        for tied in (True, False)
    )
    width = WIDTHS_BYTES[TRAINING.precision.gradients]
    assert (untied - tied).tolist() == [DENSE.vocab * DENSE.hidden * width, 0.0]


def test_adapters_have_gradients_and_an_optimizer() -> None:
    """LoRA reduces and updates its own weights, as many as PEFT counts, and nothing else."""
    lora = replace(TRAINING, method=Method.LORA, lora=Lora(16, ("q", "v")))
    layouts = Layouts.of(ParallelLayout(8))
    found, full = (build_work(DENSE, each, layouts, CLUSTER).states for each in (lora, TRAINING))
    added = 24 * 2 * 16 * (2048 + 2048)
    assert found.reduced_bytes[0] == added * WIDTHS_BYTES[TRAINING.precision.gradients]
    assert found.updated_bytes[0] / full.updated_bytes[0] == found.reduced_bytes[0] / full.reduced_bytes[0]


def test_weights_in_four_bits_are_gathered_as_they_are() -> None:
    """Fully sharded 4-bit weights send about a quarter of those in 16 bits."""
    layouts = Layouts.of(ParallelLayout(8, sharding=Sharding.ZERO3))
    wide, narrow = (
        build_work(DENSE, replace(TRAINING, method=method, lora=Lora()), layouts, CLUSTER).states.gathered_bytes[0]
        for method in (Method.LORA, Method.QLORA)
    )
    assert narrow / wide == pytest.approx(4.127 / 16)


@pytest.mark.parametrize("framework", ["pytorch", "megatron", "deepspeed"])
def test_autocast_gathers_weights_in_16_bits(framework: str) -> None:
    """Shards in fp32 are converted before they are gathered, so they send as much as shards in 16 bits."""
    layouts = Layouts.of(ParallelLayout(64, sharding=Sharding.ZERO3))
    wide, narrow = (
        build_work(
            SHAPE, replace(TRAINING, framework=framework, precision=PRECISIONS[name]), layouts, CLUSTER
        ).states.gathered_bytes
        for name in ("bf16-autocast", "bf16")
    )
    assert wide[0] == narrow[0] > 0
