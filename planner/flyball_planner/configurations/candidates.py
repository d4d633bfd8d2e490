"""Candidates: every shape of the ladder and every sequence length, in its fastest layout below the memory ceiling."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.configurations.bounds import Bounds
from flyball_planner.configurations.device_tuning import Tuning
from flyball_planner.configurations.ladder import ladder, size
from flyball_planner.configurations.recipe import batch_tokens
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.estimate import StepEstimate, estimate_step
from flyball_planner.training import Attention, Checkpointing, Sharding, Training

SEQUENCES = (256, 512, 1024, 2048, 4096, 8192)
NEARLY = 1.02  # layouts this close to the fastest count as equal; the one with the largest micro-batch is used
OPTIMIZER = "adamw"


class Candidate(Struct, frozen=True):
    """A shape at a sequence length in its best layout."""

    shape: TransformerShape
    parameters: int
    training: Training
    layout: ParallelLayout
    memory: Interval
    step: Interval
    mfu: float

    @property
    def tokens_per_step(self) -> int:
        """Return the tokens of a step over all devices."""
        return self.training.global_batch * self.training.sequence


def candidates(
    bounds: Bounds, machine: TrainingMachine, tuned: Tuning, optimizer: str = OPTIMIZER
) -> Iterator[Candidate]:
    """Yield candidates that fit, including smaller shapes than wanted, so that small machines get a result."""
    sequences = [each for each in SEQUENCES if each <= min(bounds.sequence.high, SEQUENCES[-1])]
    wanted = [shape for shape in ladder() if size(shape) <= bounds.parameters.high]
    for shape, sequence in product(wanted, sequences):
        found = _best(bounds, machine, shape, _training(shape, sequence, bounds, machine, tuned, optimizer))
        if found is not None:
            yield found


def _training(
    shape: TransformerShape, sequence: int, bounds: Bounds, machine: TrainingMachine, tuned: Tuning, optimizer: str
) -> Training:
    tokens = size(shape) * bounds.tokens_per_parameter.low
    samples = max(1.0, batch_tokens(tokens) / sequence, machine.devices * bounds.micro_batch.low)
    return Training(
        sequence=sequence,
        global_batch=machine.devices * _power_of_two(samples / machine.devices),
        optimizer=find_optimizer(optimizer),
        precision=PRECISIONS[tuned.precision],
        attention=Attention.MATERIALISED if tuned.family == "processor" else Attention.FLASH,
        compiled=tuned.compiled,
        samples=round(tokens / sequence),
    )


def _best(bounds: Bounds, machine: TrainingMachine, shape: TransformerShape, training: Training) -> Candidate | None:
    layouts = Layouts.of(*_layouts(machine, training.global_batch // machine.devices))
    layouts = layouts.where(allowed(shape, training, layouts))
    memory = estimate_memory(shape, training, layouts, machine.device)
    fitting = (memory.driver.middle <= bounds.memory_share * machine.device.memory_bytes) & (
        memory.driver.high <= memory.usable_bytes
    )
    if not fitting.any():
        return None
    inside = (
        fitting & (layouts.micro_batch >= bounds.micro_batch.low) & (layouts.micro_batch <= bounds.micro_batch.high)
    )
    wanted = inside if inside.any() else fitting
    step = estimate_step(shape, training, layouts, machine)
    row = _fastest(step.middle, wanted, layouts.micro_batch)
    return _candidate(shape, training, layouts, memory, step, row)


def _fastest(seconds: NDArray[np.float64], wanted: NDArray[np.bool_], micro_batch: NDArray[np.float64]) -> int:
    """Return the row with the largest micro-batch among those that are nearly the fastest."""
    best = seconds[wanted].min()
    near = wanted & (seconds <= NEARLY * best)
    return int(np.argmax(np.where(near, micro_batch, -1.0)))


def _candidate(
    shape: TransformerShape, training: Training, layouts: Layouts, memory: MemoryEstimate, step: StepEstimate, row: int
) -> Candidate:
    held, seconds, utilisation = memory.driver[row], step.seconds(row), float(step.mfu[row])
    return Candidate(shape, size(shape), training, layouts[row], held, seconds, utilisation)


def _layouts(machine: TrainingMachine, samples_a_device: int) -> Sequence[ParallelLayout]:
    """Return data-parallel layouts, which suffice for all shapes of the ladder on devices that hold their states."""
    micro_batches = [2**power for power in range(int(np.log2(samples_a_device)) + 1)]
    shardings = tuple(Sharding) if machine.devices > 1 else (Sharding.NONE,)
    return [
        ParallelLayout(
            machine.devices, machine.devices_a_node, micro_batch=micro, sharding=sharding, checkpointing=kept
        )
        for micro, sharding, kept in product(micro_batches, shardings, tuple(Checkpointing))
    ]


def _power_of_two(value: float) -> int:
    return int(2 ** max(0, round(np.log2(value))))
