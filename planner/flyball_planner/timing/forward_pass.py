"""The time of a forward pass alone, as inference needs it."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.belief import Belief
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.coefficients import Coefficients, fitted, from_logarithms
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.timing.seconds import longer
from flyball_planner.timing.work import Work
from flyball_planner.timing.work_builder import build_work
from flyball_planner.training import Training

HEAD_PASSES = 3.0  # a step's time of the output layer: forward, and twice as much backward
CERTAIN_BYTES = 0.75, 1.5
"""How much shorter and longer a step of generation may take than its bytes need: engines differ by as much."""
GRAPH_SECONDS = 3e-6  # of each kernel in a CUDA graph, which nothing launches from the host


class TokenTime(Struct, frozen=True):
    """The time of one step of generation, which yields one token of each sequence."""

    seconds: Interval
    limited_by: str  # memory bandwidth or short kernels


def forward_seconds(
    subject: TransformerShape | ModelCost,
    training: Training,
    machine: TrainingMachine,
    samples: int,
    tensor: int = 1,
    belief: Belief | None = None,
) -> Interval:
    """Return the time of one forward pass of some samples on as many devices as tensor-parallel ranks."""
    layout, few = ParallelLayout(tensor, machine.devices_a_node, tensor, micro_batch=samples), _of(machine, tensor)
    layouts, alone = Layouts.of(layout), replace(training, global_batch=samples)
    work = build_work(subject, alone, layouts, few)
    step = estimate_step(subject, alone, layouts, few, belief, work)
    parts, known = step.parts, from_logarithms((belief or fitted()).middle)
    device = parts.forward + parts.head / HEAD_PASSES + parts.tensor / 2
    middle = float(longer(device, _launching(work, known))[0])
    whole = step.seconds()
    return Interval(middle * whole.low / whole.middle, middle, middle * whole.high / whole.middle)


def token_seconds(
    shape: TransformerShape,
    training: Training,
    machine: TrainingMachine,
    read_bytes: float,
    tensor: int = 1,
    belief: Belief | None = None,
) -> TokenTime:
    """Return the time of one step of generation: reading the weights and the cache, or running many short kernels.

    The middle is that of an engine with CUDA graphs, the upper end that of a framework that launches every kernel.
    """
    layout, few = ParallelLayout(tensor, machine.devices_a_node, tensor), _of(machine, tensor)
    alone = replace(training, global_batch=1, sequence=1)
    known = from_logarithms((belief or fitted()).middle)
    launching = _launching(build_work(shape, alone, Layouts.of(layout), few), known)
    running = GRAPH_SECONDS * launching / known.launch
    rate = machine.device.memory_bytes_per_second * known.memory * tensor
    reading = np.array([float(known.pace) * read_bytes / float(rate)])
    middle, longest = (float(longer(reading, kernels)[0]) for kernels in (running, launching))
    limit = "memory bandwidth" if reading[0] >= running[0] else "short kernels"
    low, high = CERTAIN_BYTES
    return TokenTime(Interval(low * middle, middle, max(high * middle, longest)), limit)


def _of(machine: TrainingMachine, devices: int) -> TrainingMachine:
    return replace(machine, devices=devices)


def _launching(work: Work, known: Coefficients) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    seconds: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        known.pace * known.launch * (work.body.launches + work.head.launches)
    )
    return seconds
