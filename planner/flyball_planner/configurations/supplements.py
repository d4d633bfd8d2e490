"""Supplements of a configuration: data streaming, two phases, a processor's settings, and token budgets."""

from msgspec import Struct

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.configurations.budget import Budget, budgets
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.phases import TrainingPhase, phases
from flyball_planner.configurations.processor_tuning import ProcessorTuning, processor_tuning
from flyball_planner.configurations.streaming import Disk, Streaming, streaming

GIB = 1024.0**3
USUAL_CORES = 8  # default for a device's host
USUAL_FREE_BYTES = 32 * GIB  # default: half of a typical workstation's memory
LONGEST_TIMES = 4  # factor by which phase B lengthens the sequence


class Supplements(Struct, frozen=True):
    """Additions to a configuration."""

    streaming: Streaming
    phases: tuple[TrainingPhase, TrainingPhase]
    processor: ProcessorTuning | None  # only for training on a processor
    budgets: tuple[Budget, ...]  # token budgets at this speed


def supplements_of(
    configuration: Configuration, disk: str, free_host_bytes: float = USUAL_FREE_BYTES, cores: int = USUAL_CORES
) -> Supplements:
    """Return the supplements for data on this kind of disk."""
    device, training = find_device(configuration.device), configuration.training
    batch_tokens = training.global_batch * training.sequence
    longest = LONGEST_TIMES * training.sequence
    trains = device.kind is DeviceKind.CPU
    speed = configuration.expected.tokens_per_second
    return Supplements(
        streaming=streaming(speed, Disk(disk), free_host_bytes, cores),
        phases=phases(training.tokens, batch_tokens, training.sequence, longest, training.learning_rate),
        processor=processor_tuning(device.cores or cores, device) if trains else None,
        budgets=budgets(configuration.model.parameters, speed),
    )
