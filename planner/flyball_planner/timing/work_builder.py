"""Builds the work of a step from a model, its training, layouts and a machine."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import astuple, replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layouts.layout import Layouts
from flyball_planner.layouts.stages import filling_slots
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.shape import Head, TransformerShape
from flyball_planner.timing import network, transformer
from flyball_planner.timing.best_rates import achieved
from flyball_planner.timing.collectives import Column, Fabric, RankGroup
from flyball_planner.timing.defaults import ETHERNET, PCIE
from flyball_planner.timing.frameworks import EXPERT_OVERLAPPING, PLAIN_PYTORCH, TENSOR_OVERLAPPING
from flyball_planner.timing.host_work import TENSORS_A_LAYER, overhead
from flyball_planner.timing.products import Unit
from flyball_planner.timing.sample_extent import (
    expert_layers,
    lacking_share,
    layers_of,
    stages_by_fullest,
    up_projected_share,
)
from flyball_planner.timing.state_work import dense_weights, expert_weights, states_of
from flyball_planner.timing.work import Exchange, Schedule, Work
from flyball_planner.training import Attention, Checkpointing, Method, Training

# PyTorch's selective checkpointing stores every second product; Megatron's stores all but attention's
SELECTIVE_SHARE = 0.5
LIGHT_MOVES = 0.6
"""Share of the memory-bound work that light checkpointing repeats: norms and activations, not residual sums."""
WITH_OUTPUT = frozenset({Head.LANGUAGE_MODEL, Head.MASKED_LANGUAGE_MODEL})
STRIDES = {"tensor": (), "expert": (), "context": ("tensor",), "pipeline": ("tensor", "context", "data")}
"""The order of ranks: tensor innermost, then context, data and pipeline, as in Megatron; experts from within."""


def build_work(
    subject: TransformerShape | ModelCost, training: Training, layouts: Layouts, machine: TrainingMachine
) -> Work:
    """Return the work of a step in each layout."""
    if isinstance(subject, TransformerShape):
        return _transformer_work(subject, training, layouts, machine)
    return _network_work(subject, training, layouts, machine)


def over_machines(work: Work, machines: Sequence[tuple[int, TrainingMachine]]) -> Work:
    """Assign rows to machines that differ only in their links."""
    ends = np.cumsum([rows for rows, _ in machines])
    stretches = np.split(work.fabric.devices_a_node, ends[:-1])
    found = [_fabric(stretch, machine) for stretch, (_, machine) in zip(stretches, machines, strict=True)]
    return replace(work, fabric=Fabric(*map(np.concatenate, zip(*map(astuple, found), strict=True))))


def _transformer_work(shape: TransformerShape, training: Training, layouts: Layouts, machine: TrainingMachine) -> Work:
    body, head = transformer.passes(shape, training, layouts, machine.device)
    messages = transformer.messages(shape, training, layouts)
    nothing, stages = np.zeros(len(layouts)), stages_by_fullest(shape, layouts.pipeline)
    hidden = nothing + float(training.framework in TENSOR_OVERLAPPING)
    several = (layouts.interleave > 1) | (layouts.bidirectional > 0)
    exchanged = several.astype(float) * (training.framework in EXPERT_OVERLAPPING)
    layers, routed = layers_of(shape) / stages, expert_layers(shape) / stages
    experts = body.products.expert_weights
    dense = body.products.weights - experts + _tables(shape, layouts)
    full = float(training.method is Method.FULL)
    added = nothing + added_parameters(shape, training) / stages
    return Work(
        body=body,
        head=head,
        tensor=Exchange(messages.hidden, 2 * layers, _group(layouts, "tensor"), hidden),
        expert=Exchange(messages.routed, 2 * routed, _group(layouts, "expert"), exchanged),
        routing=messages.routing,
        context=Exchange(messages.keys, layers, _group(layouts, "context"), nothing + 1),
        transfer=Exchange(messages.forwarded, nothing + 1, _group(layouts, "pipeline"), nothing),
        states=states_of(training, layouts, dense_weights(layouts, dense, full * dense + added, layers)),
        expert_states=states_of(training, layouts, expert_weights(layouts, experts, full * experts, routed)),
        schedule=_schedule(training, layouts, lacking_share(shape, layouts), up_projected_share(shape)),
        unit=_unit(layouts, machine),
        fabric=_fabric(layouts.devices_a_node, machine),
        host_bytes_per_second=nothing + (machine.device.host_link or PCIE).bytes_per_second,
        overhead=overhead(layers * TENSORS_A_LAYER, training, machine.device),
    )


def _tables(shape: TransformerShape, layouts: Layouts) -> Column:
    """Return the numbers of the embedding and the output on the fullest stage; a pipeline's ends hold one each."""
    both = (layouts.pipeline == 1) & (not shape.tied and shape.head in WITH_OUTPUT)
    tables = np.zeros(len(layouts)) if shape.patches else 1.0 + both
    return tables * shape.vocab * shape.hidden / layouts.tensor


def _network_work(model: ModelCost, training: Training, layouts: Layouts, machine: TrainingMachine) -> Work:
    nothing = np.zeros(len(layouts))
    weights = nothing + (model.parameters if model.trained_by_gradient else 0)
    unused = Exchange(nothing, nothing, _group(layouts, "tensor"), nothing)
    layers = nothing + float(sum(each.repeats for each in model.blocks))
    return Work(
        body=network.forward_pass(model, training, layouts, machine.device),
        head=network.no_pass(layouts),
        tensor=unused,
        expert=unused,
        routing=transformer.routing(None, len(layouts)),
        context=unused,
        transfer=Exchange(nothing, nothing, _group(layouts, "pipeline"), nothing),
        states=states_of(training, layouts, dense_weights(layouts, weights, weights, layers)),
        expert_states=states_of(training, layouts, expert_weights(layouts, nothing, nothing, nothing)),
        schedule=_schedule(training, layouts, nothing),
        unit=_unit(layouts, machine),
        fabric=_fabric(layouts.devices_a_node, machine),
        host_bytes_per_second=nothing + (machine.device.host_link or PCIE).bytes_per_second,
        overhead=overhead(nothing + network.tensors(model), training, machine.device),
    )


def _schedule(training: Training, layouts: Layouts, lacking: Column, projected: float = 0.0) -> Schedule:
    full = layouts.checkpoints(Checkpointing.FULL).astype(float)
    light = layouts.checkpoints(Checkpointing.LIGHT)
    selective = layouts.checkpoints(Checkpointing.SELECTIVE)
    materialised = training.attention is Attention.MATERIALISED
    every_second = selective & (not materialised and training.framework in PLAIN_PYTORCH)
    layers = np.where(every_second, SELECTIVE_SHARE, full)
    return Schedule(
        micro_batches=layouts.micro_batches(training.global_batch),
        stages=layouts.pipeline,
        interleave=layouts.interleave,
        filling=filling_slots(layouts),
        recomputed=np.where(light, projected, layers),
        recomputed_attention=np.where(selective & materialised, 1.0, full),
        recomputed_moves=np.where(light, LIGHT_MOVES, layers),
        recomputed_exchanges=layers,
        nodes=np.ceil(layouts.devices / layouts.devices_a_node),
        lacking=lacking,
    )


def _unit(layouts: Layouts, machine: TrainingMachine) -> Unit:
    ones = np.ones(len(layouts))
    return Unit(ones * achieved(machine.device).units, ones * machine.device.memory_bytes_per_second)


def _fabric(devices_a_node: Column, machine: TrainingMachine) -> Fabric:
    ones = np.ones(len(devices_a_node))
    within = machine.device.within_node or machine.device.host_link or PCIE
    between = machine.between_nodes or ETHERNET
    return Fabric(
        within=ones * within.bytes_per_second,
        between=ones * between.bytes_per_second,
        hop_within=ones * within.latency_seconds,
        hop_between=ones * between.latency_seconds,
        devices_a_node=devices_a_node,
    )


def _group(layouts: Layouts, name: str) -> RankGroup:
    stride: Column = np.ones(len(layouts))
    for inner in STRIDES[name]:
        stride = stride * getattr(layouts, inner)
    return RankGroup(getattr(layouts, name), stride)
