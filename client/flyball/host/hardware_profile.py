"""The profile of one machine: what it has, what a process may use of it, and what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flyball.host.hardware_parts import (
    GIB,
    HostBenchmarks,
    HostDisk,
    HostGpu,
    HostLimits,
    HostMemory,
    HostNetwork,
    HostPower,
    HostProcessor,
    HostSoftware,
    HostSwap,
    HostTemperature,
    HostTier,
    WorkingFolder,
)

if TYPE_CHECKING:
    from flyball.host.bottleneck_forecast import BottleneckForecast


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareProfile:
    """One machine. `flyball.host.profile_file` writes it to JSON and reads it back."""

    tier: HostTier
    tier_reason: str = ""
    processor: HostProcessor = field(default_factory=HostProcessor)
    memory: HostMemory = field(default_factory=HostMemory)
    swaps: tuple[HostSwap, ...] = ()
    disks: tuple[HostDisk, ...] = ()
    folder: WorkingFolder | None = None
    gpus: tuple[HostGpu, ...] = ()
    networks: tuple[HostNetwork, ...] = ()
    software: HostSoftware = field(default_factory=HostSoftware)
    power: HostPower = field(default_factory=HostPower)
    temperatures: tuple[HostTemperature, ...] = ()
    limits: HostLimits = field(default_factory=HostLimits)
    benchmarks: HostBenchmarks | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)

    @property
    def cpu_cores(self) -> int | None:
        """Return the physical cores that this process may use, at least 1."""
        cores, usable = self.processor.physical_cores or self.processor.logical_cpus, self.processor.usable_cpus
        if cores is None:
            return None if usable is None else max(1, int(usable))
        return cores if usable is None else max(1, min(cores, int(usable)))

    @property
    def ram_gb(self) -> float | None:
        """Return the memory that this process may use, in GiB."""
        usable = self.memory.usable_bytes
        return None if usable is None else usable / GIB

    @property
    def mongo_write_speed(self) -> float | None:
        """Return the documents per second that MongoDB inserts; None if it was not measured."""
        mongo = self.benchmarks.mongo if self.benchmarks else None
        return None if mongo is None else mongo.inserts_per_second

    @property
    def disk_write_speed(self) -> float | None:
        """Return the MB/s that the working folder's disk writes; None if it was not measured."""
        disk = self.benchmarks.disk if self.benchmarks else None
        return None if disk is None else disk.write_mb_per_second

    @property
    def network_latency_ms(self) -> float | None:
        """Return the round trip to the configured service, else to localhost; None if none was measured."""
        network = self.benchmarks.network if self.benchmarks else None
        if network is None:
            return None
        return network.localhost_ms if network.service_ms is None else network.service_ms

    def predict_bottleneck(
        self,
        dataset_size: int,
        chunk_size: int = 15,
        num_nodes: int = 4,
        *,
        tokens_per_sample: float = 500.0,
        workers: int = 1,
        pattern_store: str = "mongodb",
        calls_per_sample: float = 0.0,
    ) -> "BottleneckForecast":
        """Return what will limit a hierarchical learner on this machine, with the time that each part needs.

        `dataset_size` is the number of samples. Patterns are kept in `mongodb`, or in the `memory` of the process.
        `calls_per_sample` counts the calls of the service whose round trip was measured.
        """
        from flyball.host.bottleneck_forecast import HostRates, forecast_bottleneck
        from flyball.host.learner_work import learner_work

        work = learner_work(
            dataset_size,
            chunk_size,
            num_nodes,
            tokens_per_sample=tokens_per_sample,
            workers=workers,
            pattern_store=pattern_store,
            calls_per_sample=calls_per_sample,
        )
        rates = HostRates.of(self.processor, self.memory, self.folder, self.benchmarks, self.unavailable)
        return forecast_bottleneck(rates, work)
