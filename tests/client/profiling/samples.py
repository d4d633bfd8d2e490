"""Builds samples of a profile."""

from dataclasses import replace

from flyball.profiling.machine_reading import CoreTime, MachineReading
from flyball.profiling.process_reading import ConsumedResources
from flyball.profiling.resource_snapshot import ResourceSnapshot
from flyball.profiling.sampler import ProfileSample


def sample(
    at: float,
    *,
    cpu: float = 0.0,
    written: float = 0.0,
    machine_busy: float = 0.0,
    machine_memory: float = 0.1,
    disk: int = 0,
    group_memory: float | None = None,
    snapshot: ResourceSnapshot | None = None,
) -> ProfileSample:
    """Return a sample on a machine with two cores; `machine_busy` is the busy time of both since boot."""
    cores = tuple(CoreTime(machine_busy / 2, at) for _ in range(2))
    return ProfileSample(
        replace(snapshot or ResourceSnapshot(0.0, 0.0), time=1e9 + at, elapsed_seconds=at,
                machine_memory_percent=100 * machine_memory),
        ConsumedResources(cpu_seconds=cpu, write_bytes=written),
        MachineReading(CoreTime(machine_busy, 2 * at), cores, machine_memory, ((b"sda", disk),)),
        group_memory,
        {},
    )  # fmt: skip
