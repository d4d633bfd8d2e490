"""Step time from work: every part of a step, given the coefficients."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.timing.coefficients import Coefficients
from flyball_planner.timing.collectives import Fabric, all_gather, all_reduce, all_to_all, ring_wait, send
from flyball_planner.timing.products import Speed, Unit, products_seconds
from flyball_planner.timing.work import BATCHED, FLASH, Pass, Schedule, StateWork, Work

Column = NDArray[np.float64]

HOPS_BETWEEN = 3.0  # a hop between nodes passes two adapters and a switch
BACKWARD_MOVED = 2.0  # times what the forward pass moves: gradient and stored input in, gradient out
BACKWARD_SOFTMAX = 5.5 / 4.5
"""The same for scores: softmax reads its gradient and output and writes (3 passes), dropout reads its gradient and mask
and writes (2.5); the forward pass has 2 and 2.5."""
BACKWARD_LAUNCHES = 1.7  # times the forward launches: two products for one, and as many other kernels
SHARPNESS = 4.0  # of the transition between two parallel activities


class StepParts(Struct, frozen=True):
    """The seconds of a step by cause, which add up to the complete step."""

    forward: Column
    backward: Column
    recomputation: Column
    head: Column  # output projection and loss
    tensor: Column  # communication of tensor-parallel ranks
    expert: Column
    context: Column
    launch: Column  # waiting for the host to launch kernels
    accumulation: Column  # adding gradients over micro-batches
    bubble: Column  # filling and draining the pipeline
    transfer: Column  # between pipeline stages
    data: Column  # communication of data-parallel ranks that is not hidden
    optimizer: Column
    uneven: Column  # waiting for the slowest rank
    fixed: Column

    @property
    def total(self) -> Column:
        """Return the seconds of the complete step."""
        total: Column = np.sum([getattr(self, name) for name in PART_NAMES], axis=0)
        return total

    def rows(self, rows: slice) -> "StepParts":
        """Select rows."""
        return StepParts(*(getattr(self, name)[rows] for name in PART_NAMES))


PART_NAMES = StepParts.__struct_fields__


def step_seconds(work: Work, known: Coefficients) -> StepParts:
    """Return all parts of the step of each layout."""
    unit = Unit(work.unit.units, work.unit.bytes_per_second * known.memory)
    fabric = _fabric(work.fabric, known)
    schedule, states, experts = work.schedule, work.states, work.expert_states
    forward, backward, again = _passes(work.body, unit, known, work)
    head_forward, head_backward, _ = _passes(work.head, unit, known, work)
    passes = 2 + schedule.recomputed_exchanges
    tensor = passes * work.tensor.times * all_reduce(work.tensor.size, work.tensor.group, fabric)
    tensor = _added_by_exchange(forward + backward + again, tensor, work.tensor.overlapped, known)
    routed = all_to_all(work.expert.size, work.routing, work.expert.group, fabric)
    expert = passes * work.expert.times * routed
    expert = _added_by_exchange(forward + backward + again, expert, work.expert.overlapped, known)
    context = known.exposed * passes * work.context.times * all_gather(work.context.size, work.context.group, fabric)
    accumulation = (states.accumulated_bytes + experts.accumulated_bytes) / unit.bytes_per_second
    device = forward + backward + again + tensor + expert + context + accumulation
    host = known.launch * work.body.launches * (1 + BACKWARD_LAUNCHES + schedule.recomputed)
    head_device = head_forward + head_backward
    head_host = known.launch * work.head.launches * (1 + BACKWARD_LAUNCHES)
    slot, head = longer(device, host), longer(head_device, head_host)
    waited = np.maximum(head - schedule.lacking * slot, 0.0) / np.maximum(head, 1e-30)  # share that all stages wait for
    head, head_device = waited * head, waited * head_device
    gathered = _gathered(states, fabric) + _gathered(experts, fabric)
    shared = _added_by_exchange(slot, gathered, states.overlapped, known)
    micro = schedule.micro_batches
    transfer = 2 * schedule.interleave * send(work.transfer.size, work.transfer.group, fabric)
    returned = _returned(states, fabric) + _returned(experts, fabric)
    reduced = _added_by_exchange(_last_slots(slot, schedule), returned, states.overlapped, known)
    step = (states.updated_bytes + experts.updated_bytes) / unit.bytes_per_second
    step = step + (states.host_bytes + experts.host_bytes) / work.host_bytes_per_second
    parts = {
        "forward": micro * forward,
        "backward": micro * backward,
        "recomputation": micro * again,
        "head": micro * head_device,
        "tensor": micro * tensor,
        "expert": micro * expert,
        "context": micro * context,
        "launch": micro * (slot - device + head - head_device),
        "accumulation": micro * accumulation,
        "bubble": slot * schedule.filling,
        "transfer": (micro + schedule.stages - 1) * transfer,
        "data": micro * shared + reduced,
        "optimizer": step,
    }
    parts["uneven"] = known.uneven * np.log2(schedule.nodes) * sum(parts.values())
    parts["fixed"] = known.fixed * work.overhead
    return StepParts(**{name: known.pace * seconds for name, seconds in parts.items()})


def _gathered(states: StateWork, fabric: Fabric) -> Column:
    """Return the time to gather weights and scatter gradients in one micro-batch."""
    sent = states.gathered_bytes + states.scattered_bytes
    if not sent.any():
        return np.zeros_like(sent)
    shards = all_gather(sent, states.shards, fabric) + states.messages * ring_wait(states.shards, fabric)
    mirrored = np.where(states.mirrored_bytes > 0, all_reduce(states.mirrored_bytes, states.replicas, fabric), 0.0)
    return np.where(sent > 0, shards, 0.0) + mirrored


def _returned(states: StateWork, fabric: Fabric) -> Column:
    """Return the time to reduce gradients after the last micro-batch and to return what every rank needs."""
    sent = states.reduced_bytes + states.returned_bytes
    return np.where(sent > 0, all_gather(sent, states.group, fabric), 0.0)


def _last_slots(slot: Column, schedule: Schedule) -> Column:
    """Return the time in which gradients become complete one after the other. If stages hold several chunks, the last
    micro-batches pass through one chunk after the other."""
    window: Column = slot * np.maximum(1.0, schedule.stages * (1 - 1 / schedule.interleave))
    return window


def longer(first: Column, second: Column) -> Column:
    """Return the longer of two parallel activities, which slow each other down if they take about the same time."""
    total: Column = (first**SHARPNESS + second**SHARPNESS) ** (1 / SHARPNESS)
    return total


def _passes(part: Pass, unit: Unit, known: Coefficients, work: Work) -> tuple[Column, Column, Column]:
    """Return the seconds of the forward pass, the backward pass and recomputation."""
    moved = part.moved_bytes / unit.bytes_per_second
    copied = known.copying * part.copied_bytes / unit.bytes_per_second  # in both directions alike
    softmax = part.softmax_bytes / unit.bytes_per_second
    attention = _attention_seconds(part, unit, known)
    cast = part.cast_bytes / unit.bytes_per_second
    speed = Speed(known.matmul, known.ramp, known.tile, known.unaligned, known.convolution, known.grouped)
    products, backward = products_seconds(part.products, unit, speed)
    schedule = work.schedule
    return (
        products + attention + softmax + moved + copied + cast,
        backward
        + part.attention_backward * attention
        + BACKWARD_SOFTMAX * softmax
        + BACKWARD_MOVED * moved
        + copied
        + cast,
        schedule.recomputed * (products + copied + cast)
        + schedule.recomputed_moves * moved
        + schedule.recomputed_attention * (attention + softmax),
    )


def _attention_seconds(part: Pass, unit: Unit, known: Coefficients) -> Column:
    """Return the longer of multiplying and of moving scores, if scores are written at all."""
    kind = part.attention_kind
    reached = np.where(kind == FLASH, known.attention, np.where(kind == BATCHED, known.batched, known.matmul))
    multiplied = part.attention_flops / (part.attention_rate * reached)
    longest: Column = np.maximum(multiplied, part.score_bytes / unit.bytes_per_second)
    return longest


def _added_by_exchange(computing: Column, exchanging: Column, overlapped: Column, known: Coefficients) -> Column:
    """Return what an exchange adds to the computation that it may overlap with."""
    hidden = longer(computing, exchanging) - computing + known.exposed * exchanging
    return np.where(overlapped > 0, np.minimum(hidden, exchanging), exchanging)


def _fabric(fabric: Fabric, known: Coefficients) -> Fabric:
    return Fabric(
        within=fabric.within * known.link,
        between=fabric.between * known.network,
        hop_within=fabric.hop_within + known.hop,
        hop_between=fabric.hop_between + HOPS_BETWEEN * known.hop,
        devices_a_node=fabric.devices_a_node,
    )
