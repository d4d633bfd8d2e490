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
EAGER_PASSES = 1.0, 2.0, 4.0
"""How many times the launches of a training's forward pass plain PyTorch needs for a token: the Python of the loop, the
growing cache and sampling come on top. Llama 2 7B takes 2.8 on an A100: 25.5 tokens per second without compilation
(PyTorch blog, "Accelerating Generative AI with PyTorch II: GPT, Fast", 2023). Middle and ends are assumed."""


class TokenTime(Struct, frozen=True):
    """The time of one step of generation, which yields one token of each sequence."""

    seconds: Interval  # by plain PyTorch, whose host launches every kernel
    limited_by: str  # memory bandwidth or kernel launches
    engine: Interval  # by an engine with CUDA graphs


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
    subject: TransformerShape | ModelCost,
    training: Training,
    machine: TrainingMachine,
    read_bytes: float,
    tensor: int = 1,
    belief: Belief | None = None,
    sequences: int = 1,
) -> TokenTime:
    """Return the time of one step of generation: reading the weights and the cache, or launching many short kernels."""
    layout = ParallelLayout(tensor, machine.devices_a_node, tensor, micro_batch=sequences)
    few = _of(machine, tensor)
    alone = replace(training, global_batch=sequences, sequence=1, compiled=False)  # a training's is not kept
    known = from_logarithms((belief or fitted()).middle)
    if isinstance(subject, ModelCost) and subject.generation is not None:
        subject = replace(subject, blocks=subject.generation.token)
    launching = _launching(build_work(subject, alone, Layouts.of(layout), few), known)
    running = GRAPH_SECONDS * launching / known.launch
    rate = machine.device.memory_bytes_per_second * known.memory * tensor
    reading = np.array([float(known.pace) * read_bytes / float(rate)])
    low, high = CERTAIN_BYTES
    least, middle, most = (
        float(longer(share * reading, passes * launching)[0])
        for share, passes in zip((low, 1.0, high), EAGER_PASSES, strict=True)
    )
    limit = "memory bandwidth" if reading[0] >= EAGER_PASSES[1] * launching[0] else "kernel launches"
    engine = float(longer(reading, running)[0])
    return TokenTime(Interval(least, middle, most), limit, Interval(low * engine, engine, high * engine))


def _of(machine: TrainingMachine, devices: int) -> TrainingMachine:
    return replace(machine, devices=devices)


def _launching(work: Work, known: Coefficients) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    seconds: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        known.pace * known.launch * (work.body.launches + work.head.launches)
    )
    return seconds
