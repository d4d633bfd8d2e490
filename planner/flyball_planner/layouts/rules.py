"""Which layouts are possible at all: each rule is a mask over columns, with the reason for what it refuses."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Attention, Checkpointing, Sharding, Training

Mask = NDArray[np.bool_]


class Refusal(Struct, frozen=True):
    """A rule, the layouts that break it, and how to say so. Of a grid the mask has the axes that the rule looks at."""

    reason: str
    broken: Mask


def refusals(subject: TransformerShape | ModelCost, training: Training, layouts: Layouts) -> Sequence[Refusal]:
    """Every rule, whether broken or not."""
    found = _counts(training, layouts)
    if isinstance(subject, TransformerShape):
        return [*found, *_transformer(subject, training, layouts)]
    single = (layouts.tensor == 1) & (layouts.pipeline == 1) & (layouts.context == 1) & (layouts.expert == 1)
    return [*found, Refusal(f"{subject.family} models are only replicated or sharded, not cut", ~single)]


def allowed(subject: TransformerShape | ModelCost, training: Training, layouts: Layouts) -> Mask:
    """Where no rule is broken."""
    return unbroken(refusals(subject, training, layouts))


def unbroken(rules: Sequence[Refusal]) -> Mask:
    """The same of rules that were looked at already."""
    mask: Mask = ~reduce(np.logical_or, (rule.broken for rule in rules))
    return mask


def obstacle(rules: Sequence[Refusal]) -> str:
    """Where every layout breaks a rule: the one that alone stands in the way of most, else the one that most break."""
    broken = np.array([rule.broken for rule in rules])
    if not broken.any():
        return "there is no candidate"
    alone = broken & (broken.sum(axis=0) == 1)
    counted = (alone if alone.any() else broken).sum(axis=1)
    return rules[int(counted.argmax())].reason


def _counts(training: Training, layouts: Layouts) -> list[Refusal]:
    model = layouts.tensor * layouts.pipeline * layouts.context
    replicas = layouts.data
    step = replicas * layouts.micro_batch
    return [
        Refusal("the devices are no multiple of tensor × pipeline × context", layouts.devices % model > 0),
        Refusal("tensor parallelism leaves the node", layouts.tensor > layouts.devices_a_node),
        Refusal(
            f"a global batch of {training.global_batch} is no multiple of replicas × micro-batch",
            training.global_batch % np.maximum(step, 1) > 0,
        ),
        Refusal("experts are spread over more ranks than hold the model", layouts.expert > replicas * layouts.tensor),
        Refusal("there is nobody to divide states with", layouts.sharded(Sharding.ZERO1) & (replicas == 1)),
        Refusal(
            "gathered weights (ZeRO-2, ZeRO-3) and a pipeline would exchange them for every micro-batch",
            layouts.sharded(Sharding.ZERO2) & (layouts.pipeline > 1),
        ),
        Refusal("chunks of a stage need a pipeline", (layouts.interleave > 1) & (layouts.pipeline == 1)),
        Refusal(
            "sequence parallelism needs tensor parallelism", (layouts.sequence_parallel > 0) & (layouts.tensor == 1)
        ),
        Refusal(
            "an interleaved pipeline takes micro-batches in groups of its stages",
            (layouts.interleave > 1) & (layouts.micro_batches(training.global_batch) % layouts.pipeline > 0),
        ),
    ]


def _transformer(shape: TransformerShape, training: Training, layouts: Layouts) -> list[Refusal]:
    layers = shape.layers + shape.decoder_layers
    experts = shape.experts.count if shape.experts else 1
    scoreless = (
        training.attention is Attention.FLASH and training.framework != "pytorch"
    )  # it spares every second product
    alone = layouts.micro_batches(training.global_batch) < layouts.pipeline
    return [
        Refusal(f"{shape.heads} heads are no multiple of tensor", shape.heads % layouts.tensor > 0),
        Refusal(
            f"{shape.kv_heads} key-value heads do not go with tensor",
            (shape.kv_heads % layouts.tensor > 0) & (layouts.tensor % shape.kv_heads > 0),
        ),
        Refusal(f"a feed-forward width of {shape.ffn} is no multiple of tensor", shape.ffn % layouts.tensor > 0),
        Refusal(
            f"{layers} layers are no multiple of stages × chunks", layers % (layouts.pipeline * layouts.interleave) > 0
        ),
        Refusal(f"a sequence of {training.sequence} is no multiple of 2 × context", _uncut(training, layouts)),
        Refusal(f"{experts} experts are no multiple of expert", experts % layouts.expert > 0),
        Refusal("fewer micro-batches than stages", alone & (layouts.pipeline > 1)),
        Refusal(
            "selective recomputation spares attention's scores, which flash attention never keeps",
            layouts.checkpoints(Checkpointing.SELECTIVE) & scoreless,
        ),
    ]


def _uncut(training: Training, layouts: Layouts) -> Mask:
    """Context ranks take two slices each, an early and a late one, so that causal work is even."""
    mask: Mask = (layouts.context > 1) & (training.sequence % (2 * layouts.context) > 0)
    return mask
