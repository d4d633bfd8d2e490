"""Rules for possible layouts. Each rule is a mask over columns with a reason."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Attention, Checkpointing, Sharding, Training

Mask = NDArray[np.bool_]
ENDS = 2  # embedding and output
MOST_IDLE = 0.1  # share of a pipeline that unequal stages may leave idle in a search


class Refusal(Struct, frozen=True):
    """A rule's reason and the layouts that break it. In a grid, the mask only has the axes that the rule uses."""

    reason: str
    broken: Mask


def refusals(
    subject: TransformerShape | ModelCost, training: Training, layouts: Layouts, *, chosen: bool = False
) -> Sequence[Refusal]:
    """Return every rule with the layouts that break it.

    A user may have `chosen` what a search does not propose: stages with unequal numbers of layers, and states that are
    sharded within a pipeline.
    """
    found = [*_counts(training, layouts), _sharded_pipeline(training, layouts, chosen=chosen)]
    if isinstance(subject, TransformerShape):
        return [*found, _stages(subject, layouts, chosen=chosen), *_transformer(subject, training, layouts)]
    single = (layouts.tensor == 1) & (layouts.pipeline == 1) & (layouts.context == 1) & (layouts.expert == 1)
    return [*found, Refusal(f"{subject.family} models can be replicated or sharded, but not split", ~single)]


def allowed(
    subject: TransformerShape | ModelCost, training: Training, layouts: Layouts, *, chosen: bool = False
) -> Mask:
    """Return the layouts that break no rule."""
    return unbroken(refusals(subject, training, layouts, chosen=chosen))


def unbroken(rules: Sequence[Refusal]) -> Mask:
    """Return the layouts that break none of the given rules."""
    mask: Mask = ~reduce(np.logical_or, (rule.broken for rule in rules))
    return mask


def obstacle(rules: Sequence[Refusal]) -> str:
    """Return the main reason when every layout breaks a rule.

    This is the rule that most layouts break alone, or else the rule that most layouts break.
    """
    broken = np.array([rule.broken for rule in rules])
    if not broken.any():
        return "there are no candidates"
    alone = broken & (broken.sum(axis=0) == 1)
    counted = (alone if alone.any() else broken).sum(axis=1)
    return rules[int(counted.argmax())].reason


def _counts(training: Training, layouts: Layouts) -> list[Refusal]:
    model = layouts.tensor * layouts.pipeline * layouts.context
    replicas = layouts.data
    step = replicas * layouts.micro_batch
    return [
        Refusal("the number of devices is not a multiple of tensor × pipeline × context", layouts.devices % model > 0),
        Refusal("tensor parallelism does not fit within a node", layouts.tensor > layouts.devices_a_node),
        Refusal(
            f"a global batch of {training.global_batch} is not a multiple of replicas × micro-batch",
            training.global_batch % np.maximum(step, 1) > 0,
        ),
        Refusal("experts are distributed over more ranks than there are", layouts.expert > replicas * layouts.tensor),
        Refusal(
            "the ranks of a pipeline stage are not a multiple of expert, so some experts would have more copies",
            (layouts.expert <= replicas * layouts.tensor)
            & ((replicas * layouts.tensor * layouts.context) % layouts.expert > 0),
        ),
        Refusal(
            "sharding needs at least two data-parallel replicas", layouts.sharded(Sharding.ZERO1) & (replicas == 1)
        ),
        Refusal("interleaving needs a pipeline", (layouts.interleave > 1) & (layouts.pipeline == 1)),
        Refusal(
            "sequence parallelism needs tensor parallelism", (layouts.sequence_parallel > 0) & (layouts.tensor == 1)
        ),
        Refusal(
            "an interleaved pipeline needs a multiple of its stages as micro-batches",
            (layouts.interleave > 1) & (layouts.micro_batches(training.global_batch) % layouts.pipeline > 0),
        ),
    ]


SHARDED_PIPELINES = {
    "deepspeed": "DeepSpeed's pipeline engine only works with ZeRO-1; use sharding: zero1",
    "megatron": "Megatron's distributed optimizer shards optimizer states only; use sharding: zero1",
}
"""Why frameworks refuse ZeRO-2 and ZeRO-3 in a pipeline: deepspeed/runtime/pipe/engine.py, and Megatron's own rules.
PyTorch's FSDP2 allows it: a stage's weights stay gathered and its gradients undivided until the last micro-batch."""


def _sharded_pipeline(training: Training, layouts: Layouts, *, chosen: bool) -> Refusal:
    broken = layouts.sharded(Sharding.ZERO2) & (layouts.pipeline > 1)
    usual = "ZeRO-2 and ZeRO-3 in a pipeline would exchange weights or gradients for every micro-batch"
    if chosen and training.framework not in SHARDED_PIPELINES:
        return Refusal(usual, np.zeros_like(broken))
    return Refusal(SHARDED_PIPELINES.get(training.framework, usual), broken)


def _stages(shape: TransformerShape, layouts: Layouts, *, chosen: bool) -> Refusal:
    layers, parts = shape.layers + shape.decoder_layers, layouts.pipeline * layouts.interleave
    if chosen:
        return Refusal(f"{layers} layers cannot fill stages × chunks", layers < parts)
    # Embedding and output count as a layer each where that makes stages equal: 126 + 2 (Llama 3 405B), 70 + 2 (BLOOM).
    equal = (layers % parts == 0) | ((layers + ENDS) % parts == 0)
    uneven = (layers < parts) | (~equal & (idle_share(layers, parts) > MOST_IDLE))
    return Refusal(f"{layers} layers are not a multiple of stages × chunks, and some would wait", uneven)


def idle_share(layers: int, parts: Column | float) -> Column:
    """Return the share of a pipeline that waits for its fullest stage."""
    share: Column = 1 - layers / (parts * np.ceil(layers / np.asarray(parts)))
    return share


def _transformer(shape: TransformerShape, training: Training, layouts: Layouts) -> list[Refusal]:
    experts = shape.experts.count if shape.experts else 1
    indivisible = f"{experts} experts are not a multiple of expert" if shape.experts else "the model has no experts"
    scoreless = (
        training.attention is Attention.FLASH and training.framework != "pytorch"
    )  # PyTorch's selective policy recomputes every second product
    alone = layouts.micro_batches(training.global_batch) < layouts.pipeline
    return [
        Refusal(f"{shape.heads} heads are not a multiple of tensor", shape.heads % layouts.tensor > 0),
        Refusal(
            f"{shape.kv_heads} key-value heads cannot be divided by tensor",
            (shape.kv_heads % layouts.tensor > 0) & (layouts.tensor % shape.kv_heads > 0),
        ),
        Refusal(f"a feed-forward width of {shape.ffn} is not a multiple of tensor", shape.ffn % layouts.tensor > 0),
        Refusal(
            f"a sequence of {training.sequence} is not a multiple of 2 × context",
            _indivisible_sequence(training, layouts),
        ),
        Refusal(indivisible, experts % layouts.expert > 0),
        Refusal("fewer micro-batches than stages", alone & (layouts.pipeline > 1)),
        Refusal(
            "selective recomputation saves attention scores, which flash attention never stores",
            layouts.checkpoints(Checkpointing.SELECTIVE) & scoreless,
        ),
    ]


def _indivisible_sequence(training: Training, layouts: Layouts) -> Mask:
    """Return the layouts whose context ranks cannot take two equal slices each: causal work is balanced that way."""
    mask: Mask = (layouts.context > 1) & (training.sequence % (2 * layouts.context) > 0)
    return mask
