"""The memory that a training needs on each host, beside the memory of its devices."""

import math
from collections.abc import Iterator

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import DeviceKind, TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.memory.checkpoint_size import MASTER_BYTES, checkpoint_bytes, trained_parameters
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.plan.judged_layout import FITS, TOO_LARGE, UNCERTAIN, JudgedLayout
from flyball_planner.plan.plan import HostMemorySection, NamedAmount
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Offload

SYSTEM = Interval(2e9, 3e9, 4e9)  # kept for the operating system and its services
PROCESS = Interval(1.5e9, 3e9, 6e9)
"""Of one process that trains on an accelerator: Python, the framework, and the libraries of the driver. Assumed."""
WORKER = Interval(0.2e9, 0.5e9, 1.5e9)
"""Of one worker process of a loader: Python, the framework, and its part of the data's index. Assumed."""
PREFETCHED = 2  # batches that each worker of torch's DataLoader holds ready
UNEVEN = 2.0  # times the average share of a checkpoint that the fullest host writes; assumed
TOKEN_BYTES = 8.0  # an index is a 64-bit integer
CHIPS = 4  # of a host in a slice of TPU v4, v5p or several hosts of v5e (Google Cloud, "TPU architecture")
ON_HOST = frozenset({DeviceKind.CPU, DeviceKind.UNIFIED})


def host_memory(subject: Subject, judged: JudgedLayout) -> HostMemorySection:
    """Return what one host needs by part, and whether it has as much."""
    parts = tuple(_parts(subject, judged))
    needed = sum((each.amount for each in parts), start=Interval.exactly(0.0))
    capacity = judged.machine.host_memory_bytes
    return HostMemorySection(parts, needed, capacity, _verdict(needed, capacity))


def _verdict(needed: Interval, capacity: float | None) -> str:
    if capacity is None:
        return ""
    return FITS if needed.high <= capacity else TOO_LARGE if needed.low > capacity else UNCERTAIN


def _parts(subject: Subject, judged: JudgedLayout) -> Iterator[NamedAmount]:
    devices = _on_a_host(judged.machine)
    yield NamedAmount("operating_system", SYSTEM)
    if judged.machine.device.kind in ON_HOST:
        yield NamedAmount("training", judged.driver)
    else:
        yield NamedAmount("training_processes", PROCESS.times(devices))
    yield from _loader(judged, devices)
    if not trained_by_gradient(subject):
        return
    offloaded = offloaded_bytes(subject, judged)
    if offloaded:
        yield NamedAmount("offloaded_states", Interval.around(offloaded, 0.1, 0.3))
    saved = checkpoint_bytes(subject, judged.training)
    share = saved / math.ceil(judged.machine.devices / devices)
    layout = judged.layout
    # A sharded checkpoint leaves each host with its share; a complete one is gathered by one host. Frameworks with
    # model parallelism write shards, which are as uneven as their pipeline stages.
    sharded = layout.tensor * layout.pipeline * layout.expert > 1
    yield NamedAmount("checkpoint_copy", Interval(0.0, share, min(saved, UNEVEN * share) if sharded else saved))


def _on_a_host(machine: TrainingMachine) -> int:
    """Return the devices of a host: those of a node, but a node of TPUs is a slice of many hosts."""
    together = min(machine.devices, machine.devices_a_node)
    return min(together, CHIPS) if machine.device.kind is DeviceKind.TPU else together


def _loader(judged: JudgedLayout, devices: int) -> Iterator[NamedAmount]:
    """Yield the worker processes and the samples that are loaded in advance, once more in pinned memory."""
    loading = judged.context.loading
    if loading is None:
        return
    workers = devices * (loading.workers or 0)
    if workers:
        yield NamedAmount("loading_workers", WORKER.times(workers))
    sample = loading.bytes_per_sample or TOKEN_BYTES * judged.training.sequence
    batch = judged.layout.micro_batch * sample
    held = (PREFETCHED * max(1, workers) + devices) * batch
    yield NamedAmount("loaded_samples", Interval(held, held, 8 * held))  # decoded samples are larger than stored ones


def offloaded_bytes(subject: Subject, judged: JudgedLayout) -> float:
    """Return the bytes of one host that the devices do not hold: states with fp32 gradients, weights, activations."""
    offload, training = judged.layout.offload, judged.training
    if offload is Offload.NONE:
        return 0.0
    count = subject.parameters if isinstance(subject, ModelCost) else parameters(subject).total
    if offload is Offload.ACTIVATIONS:
        return _moved_activations(subject, judged)
    states = training.optimizer.state_bytes + 2 * MASTER_BYTES  # with a copy of the weights and of the gradients
    few = training.frozen_format
    width = few.weight_bytes if few else WIDTHS_BYTES[training.precision.weights]
    weights = width * count if offload is Offload.PARAMETERS else 0.0
    return (states * trained_parameters(subject, training) + weights) / judged.machine.nodes


def _moved_activations(subject: Subject, judged: JudgedLayout) -> float:
    """Return what the devices of one host would hold in addition without offloading."""
    layouts = Layouts.of(replace(judged.layout, offload=Offload.NONE))
    constants = judged.context.learned.constants
    kept = estimate_memory(subject, judged.training, layouts, judged.machine.device, constants)
    devices = min(judged.machine.devices, judged.machine.devices_a_node)
    return devices * max(0.0, kept.allocated[0].middle - judged.memory.allocated[judged.row].middle)
