"""Candidates: every shape of the ladder and every sequence length, in its fastest layout below the memory ceiling."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from flyball_planner.catalogue.hardware import DeviceKind, TrainingMachine
from flyball_planner.configurations.bounds import Bounds
from flyball_planner.configurations.device_tuning import Tuning
from flyball_planner.configurations.ladder import ladder, size
from flyball_planner.configurations.recipe import batch_tokens
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.estimate import StepEstimate, estimate_step
from flyball_planner.training import Attention, Checkpointing, Sharding, Training

SEQUENCES = (256, 512, 1024, 2048, 4096, 8192)
NEARLY = 1.02  # layouts this close to the fastest count as equal; the one with the largest micro-batch is used
OPTIMIZER = "adamw"
FINENESS = 8  # steps between two powers of two, in micro-batches
SEQUENCE_STEP = 256  # tokens between two sequence lengths, below the next power of two
SYSTEM_BYTES = 4e9  # the most that a plan keeps for the operating system and its services
UNIFIED_SHARE = 0.75  # what macOS lends to the GPU of a chip with much memory; the system needs the rest


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


def filled(bounds: Bounds, machine: TrainingMachine, candidate: Candidate) -> Candidate | None:
    """Return the candidate with the largest micro-batch that fits and is not slower per sample; None if it has it.

    Candidates have powers of two. This tries the numbers up to the next one, with a global batch that they divide.
    """
    layout, training = candidate.layout, candidate.training
    pace = NEARLY * candidate.step.middle / training.global_batch
    step = max(1, layout.micro_batch // FINENESS)
    for micro in range(2 * layout.micro_batch - step, layout.micro_batch, -step):
        batch = layout.data * micro * max(1, round(training.global_batch / (layout.data * micro)))
        other, row = replace(training, global_batch=batch), Layouts.of(replace(layout, micro_batch=micro))
        memory = estimate_memory(candidate.shape, other, row, machine.device)
        if not _fits(bounds, machine, candidate.shape, other, memory).any():
            continue
        seconds = estimate_step(candidate.shape, other, row, machine)
        if seconds.middle[0] / batch <= pace:
            return _candidate(candidate.shape, other, row, memory, seconds, 0)
    return None


def lengthened(bounds: Bounds, machine: TrainingMachine, candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate with longer sequences that fit, the longest first, and about as many tokens in a step."""
    layout, training = candidate.layout, candidate.training
    most = int(min(2 * training.sequence, bounds.sequence.high, SEQUENCES[-1]))
    for sequence in range(most, training.sequence, -SEQUENCE_STEP):
        at_once = layout.data * layout.micro_batch
        batch = at_once * max(1, round(training.global_batch * training.sequence / (sequence * at_once)))
        samples = round(training.samples * training.sequence / sequence)
        other, row = replace(training, sequence=sequence, global_batch=batch, samples=samples), Layouts.of(layout)
        memory = estimate_memory(candidate.shape, other, row, machine.device)
        if _fits(bounds, machine, candidate.shape, other, memory).any():
            seconds = estimate_step(candidate.shape, other, row, machine)
            yield _candidate(candidate.shape, other, row, memory, seconds, 0)


def with_larger_micro_batch(candidate: Candidate, machine: TrainingMachine, micro: int) -> tuple[Interval, float]:
    """Return the memory that another micro-batch needs, and the memory that can be used."""
    row = Layouts.of(replace(candidate.layout, micro_batch=micro))
    times = max(1, candidate.training.global_batch // (candidate.layout.data * candidate.layout.micro_batch))
    training = replace(candidate.training, global_batch=candidate.layout.data * micro * times)
    memory = estimate_memory(candidate.shape, training, row, machine.device)
    return memory.driver[0], room(machine, candidate.shape, training, memory.usable_bytes)


def room(machine: TrainingMachine, shape: TransformerShape, training: Training, usable: float) -> float:
    """Return the bytes that a training may need. Where a device shares the memory of its host, the system, and a
    checkpoint that is being written, need their part of it."""
    device = machine.device
    if device.kind not in {DeviceKind.CPU, DeviceKind.UNIFIED}:
        return usable
    lent = UNIFIED_SHARE * device.memory_bytes if device.kind is DeviceKind.UNIFIED else device.memory_bytes
    whole = machine.host_memory_bytes or device.memory_bytes
    return min(usable, lent, whole - SYSTEM_BYTES - checkpoint_bytes(shape, training))


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
    fitting = _fits(bounds, machine, shape, training, memory)
    if not fitting.any():
        return None
    inside = (
        fitting & (layouts.micro_batch >= bounds.micro_batch.low) & (layouts.micro_batch <= bounds.micro_batch.high)
    )
    wanted = inside if inside.any() else fitting
    step = estimate_step(shape, training, layouts, machine)
    row = _fastest(step.middle, wanted, layouts.micro_batch)
    return _candidate(shape, training, layouts, memory, step, row)


def _fits(
    bounds: Bounds, machine: TrainingMachine, shape: TransformerShape, training: Training, memory: MemoryEstimate
) -> NDArray[np.bool_]:
    """Return the rows below the ceiling whose upper end fits too."""
    below: NDArray[np.bool_] = memory.driver.middle <= bounds.memory_share * machine.device.memory_bytes
    surely: NDArray[np.bool_] = memory.driver.high <= room(machine, shape, training, memory.usable_bytes)
    return below & surely


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
