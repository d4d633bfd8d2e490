"""Rules for possible layouts. Each rule is a mask over columns with a reason."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Layouts
from flyball_planner.layouts.stages import ENDS, idle_share, uneven_rounds
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Attention, Checkpointing, Sharding, Training

Mask = NDArray[np.bool_]
UNDIVIDED = "the number of devices is not a multiple of tensor × pipeline × context"
MOST_IDLE = 0.2  # share of a pipeline that unequal stages may leave idle in a search; its time is counted


class Refusal(Struct, frozen=True):
    """A rule's reason and the layouts that break it. In a grid, the mask only has the axes that the rule uses."""

    reason: str
    broken: Mask


def refusals(
    subject: TransformerShape | ModelCost, training: Training, layouts: Layouts, *, chosen: bool = False
) -> Sequence[Refusal]:
    """Return every rule with the layouts that break it.

    A user may have `chosen` what a search does not propose: stages with very unequal numbers of layers, states that are
    sharded within a pipeline, and tensor parallelism across nodes.
    """
    found = [*_counts(training, layouts, chosen=chosen), _sharded_pipeline(training, layouts, chosen=chosen)]
    if isinstance(subject, TransformerShape):
        return [*found, _stages(subject, layouts, chosen=chosen), *_transformer(subject, training, layouts)]
    whole = Refusal("light checkpointing needs a transformer", layouts.checkpoints(Checkpointing.LIGHT))
    single = (layouts.tensor == 1) & (layouts.pipeline == 1) & (layouts.context == 1) & (layouts.expert == 1)
    return [*found, whole, Refusal(f"{subject.family} models can be replicated or sharded, but not split", ~single)]


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

    This is the rule that most layouts break alone, or else the rule that most layouts break. Only layouts count that
    divide the devices, if there are any: the others are combinations that nobody would try.
    """
    broken = np.array([rule.broken for rule in rules])
    if not broken.any():
        return "there are no candidates"
    whole = ~broken[[rule.reason for rule in rules].index(UNDIVIDED)]
    broken = broken[:, whole] if whole.any() else broken
    alone = broken & (broken.sum(axis=0) == 1)
    counted = (alone if alone.any() else broken).sum(axis=1)
    return rules[int(counted.argmax())].reason


def _counts(training: Training, layouts: Layouts, *, chosen: bool) -> list[Refusal]:
    model = layouts.tensor * layouts.pipeline * layouts.context
    replicas = layouts.data
    step = replicas * layouts.micro_batch
    return [
        Refusal(UNDIVIDED, layouts.devices % model > 0),
        Refusal(
            "tensor parallelism does not fit within a node", (layouts.tensor > layouts.devices_a_node) & (not chosen)
        ),
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
        *_interleaved(training, layouts),
        *_bidirectional(training, layouts),
    ]


def _interleaved(training: Training, layouts: Layouts) -> list[Refusal]:
    """Refuse chunks of stages that the framework's schedule cannot order.

    Megatron-Core takes any number of micro-batches from one for each stage on (microbatch_group_size_per_vp_stage);
    torch's ScheduleInterleaved1F1B needs equal rounds; DeepSpeed's pipeline has no such schedule.
    """
    chunks = layouts.interleave > 1
    if training.framework == "deepspeed":
        return [Refusal("DeepSpeed's pipeline engine has one chunk of the model per stage; use interleave: 1", chunks)]
    if training.framework == "megatron":
        return []
    uneven = uneven_rounds(layouts.pipeline, layouts.micro_batches(training.global_batch))
    reason = "PyTorch's interleaved pipeline needs micro-batches for a whole number of equal rounds"
    return [Refusal(reason, chunks & uneven)]


def _bidirectional(training: Training, layouts: Layouts) -> list[Refusal]:
    """Refuse what DualPipe's own schedule refuses (deepseek-ai/DualPipe, dualpipe/dualpipe.py)."""
    both = layouts.bidirectional > 0
    if not both.any():
        return []
    if training.framework == "deepspeed":
        return [Refusal("DeepSpeed's pipeline engine has one direction; leave out bidirectional", both)]
    stages, micro_batches = layouts.pipeline, layouts.micro_batches(training.global_batch)
    few = (micro_batches < 2 * stages) | (micro_batches % 2 > 0)
    return [
        Refusal("a pipeline of both directions needs an even number of stages", both & (stages % 2 > 0)),
        Refusal(
            "a pipeline of both directions has two chunks per rank; use interleave: 1", both & (layouts.interleave > 1)
        ),
        Refusal("a pipeline of both directions needs two micro-batches per stage, and an even number", both & few),
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
    # With several chunks, the first may only hold the embedding and the last only the output (Llama 3: 128 of 1 layer).
    empty = layers + ENDS * (layouts.interleave > 1) < parts
    if chosen:
        fewer = "use a smaller pipeline or interleave"
        return Refusal(f"{layers} layers are too few for so many stages × chunks; {fewer}", empty)
    # Embedding and output count as a layer each where that makes stages equal: 126 + 2 (Llama 3 405B), 70 + 2 (BLOOM).
    equal = (layers % parts == 0) | ((layers + ENDS) % parts == 0)
    uneven = empty | (~equal & (idle_share(layers, parts) > MOST_IDLE))
    return Refusal(f"{layers} layers are not a multiple of stages × chunks, and some would wait", uneven)


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
        Refusal(
            "light checkpointing is Megatron's (recompute_modules layernorm, moe_act, mla_up_proj); use framework: "
            "megatron, selective or full",
            layouts.checkpoints(Checkpointing.LIGHT) & (training.framework != "megatron"),
        ),
    ]


def _indivisible_sequence(training: Training, layouts: Layouts) -> Mask:
    """Return the layouts whose context ranks cannot take two equal slices each: causal work is balanced that way."""
    mask: Mask = (layouts.context > 1) & (training.sequence % (2 * layouts.context) > 0)
    return mask
