"""What goes with a configuration: how its data are read, its two phases, and a processor's own settings."""

from msgspec import Struct

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.configurations.budget import Budget, budgets
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.phases import Phase, phases
from flyball_planner.configurations.processor import ProcessorTuning, processor_tuning
from flyball_planner.configurations.streaming import Disk, Streaming, streaming

GIB = 1024.0**3
USUAL_CORES = 8  # of a device's host, where nobody says more
USUAL_FREE_BYTES = 32 * GIB  # the same: half of an ordinary workstation's memory
LONGEST_TIMES = 4  # of the sequence, as far as phase B lengthens it


class Accompanied(Struct, frozen=True):
    """Beside the configuration itself."""

    streaming: Streaming
    phases: tuple[Phase, Phase]
    processor: ProcessorTuning | None  # only where a processor trains
    budgets: tuple[Budget, ...]  # what the machine affords at this speed


def accompany(
    configuration: Configuration, disk: str, free_host_bytes: float = USUAL_FREE_BYTES, cores: int = USUAL_CORES
) -> Accompanied:
    """For data on this kind of disk."""
    device, training = find_device(configuration.device), configuration.training
    batch_tokens = training.global_batch * training.sequence
    longest = LONGEST_TIMES * training.sequence
    trains = device.kind is DeviceKind.CPU
    speed = configuration.expected.tokens_per_second
    return Accompanied(
        streaming=streaming(speed, Disk(disk), free_host_bytes, cores),
        phases=phases(training.tokens, batch_tokens, training.sequence, longest, training.learning_rate),
        processor=processor_tuning(device.cores or cores, device) if trains else None,
        budgets=budgets(configuration.model.parameters, speed),
    )
