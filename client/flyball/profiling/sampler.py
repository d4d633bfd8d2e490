"""Takes the samples of a profile: reads the process tree, the machine, GPUs and latencies at one moment."""

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from flyball.profiling.allowed_resources import memory_use, own_groups
from flyball.profiling.api_latency import ApiLatency
from flyball.profiling.gpu_memory import GpuMemory, GpuUse
from flyball.profiling.machine_reading import MachineReading, core_percents, machine_percent, read_machine
from flyball.profiling.process_reading import NOTHING, ConsumedResources, ProcessReading
from flyball.profiling.resource_snapshot import LevelRate, ResourceSnapshot
from flyball.profiling.tree_ledger import TreeLedger
from flyball_agent.probes.round_trip import Loopback

NOT_REQUESTED = "no address was given to measure"
_NO_PROC = "this system has no /proc"


class TreeSource(Protocol):
    """Reads the processes of a tree."""

    def read(self) -> list[ProcessReading]:
        """Return all living processes, parents first."""


class ProfileSample(NamedTuple):
    """A snapshot with the sums behind it, and the reasons of what is unknown in it."""

    snapshot: ResourceSnapshot
    consumed: ConsumedResources
    machine: MachineReading
    group_memory: float | None
    unavailable: dict[str, str]


class ProfileSampler:
    """Reads everything. The first sample is the start of the profile; a command's own processes start at 0.

    `waited` returns what children of the reader had used that ended since the last sample.
    """

    def __init__(
        self,
        processes: TreeSource,
        ledger: TreeLedger,
        *,
        from_zero: bool = False,
        api: ApiLatency | None = None,
        gpus: GpuMemory | None = None,
        levels: Callable[[], dict[str, float]] = dict,
        waited: Callable[[], ConsumedResources] = ConsumedResources,
    ) -> None:
        self._processes, self._ledger = processes, ledger
        self._api, self._levels, self._waited = api, levels, waited
        self._gpus = gpus or GpuMemory()
        self._loopback = Loopback()
        self._groups = own_groups()
        self._from_zero = from_zero
        self._baseline = NOTHING if from_zero else None
        self._started = self._before_at = time.monotonic()
        self._before: ProfileSample | None = None
        self._levels_before: dict[str, float] = {}

    def sample(self) -> ProfileSample:
        """Read everything now."""
        now = time.monotonic()
        unavailable: dict[str, str] = {}
        waited = self._waited()  # before the processes are read: a child that ends meanwhile counts once
        readings = self._processes.read()
        consumed = self._consumed(readings, waited)
        machine = read_machine()
        snapshot = self._snapshot(now, readings, consumed, machine, unavailable)
        sample = ProfileSample(snapshot, consumed, machine, memory_use(self._groups), unavailable)
        self._before, self._before_at = sample, now
        return sample

    def close(self) -> None:
        """Release sockets and the driver's library, and ask the other thread to end."""
        if self._api is not None:
            self._api.stop(0.0)
        self._loopback.close()
        self._gpus.close()

    def _consumed(self, readings: list[ProcessReading], waited: ConsumedResources) -> ConsumedResources:
        total = self._ledger.update(readings, waited)
        if self._baseline is None:
            self._baseline = total
        return total.minus(self._baseline)

    def _snapshot(
        self,
        now: float,
        readings: list[ProcessReading],
        consumed: ConsumedResources,
        machine: MachineReading,
        unavailable: dict[str, str],
    ) -> ResourceSnapshot:
        passed = now - self._before_at
        before = self._before
        resident = [reading.resident_bytes for reading in readings if reading.resident_bytes is not None]
        io_known = _io_known(readings, unavailable)
        gpus = self._gpu_use(readings, unavailable)
        if not readings and not self._from_zero:
            unavailable["processes"] = "no process of the tree could be read"
        if not machine.cores:
            unavailable["machine"] = _NO_PROC
        return ResourceSnapshot(
            time=time.time(),
            elapsed_seconds=now - self._started,
            cpu_percent=_percent(consumed.cpu_seconds - before.consumed.cpu_seconds, passed) if before else None,
            machine_cpu_percent=machine_percent(before.machine, machine) if before else None,
            cpu_percent_per_core=core_percents(before.machine, machine) if before else None,
            memory_bytes=sum(resident) if resident else None,
            machine_memory_percent=None if machine.memory_used_ratio is None else 100 * machine.memory_used_ratio,
            disk_read_bytes=int(consumed.read_bytes) if io_known else None,
            disk_write_bytes=int(consumed.write_bytes) if io_known else None,
            disk_read_operations=int(consumed.read_operations) if io_known else None,
            disk_write_operations=int(consumed.write_operations) if io_known else None,
            processes=len(readings),
            threads=sum(reading.threads for reading in readings),
            gpu_memory_bytes=gpus.used_bytes,
            tree_gpu_memory_bytes=gpus.tree_bytes,
            api_latency_seconds=self._api_seconds(unavailable),
            localhost_latency_seconds=self._localhost_seconds(unavailable),
            level_rates=self._level_rates(passed),
        )

    def _gpu_use(self, readings: list[ProcessReading], unavailable: dict[str, str]) -> GpuUse:
        if self._before is None:  # loading the driver's library may take a second: the program must not wait for it
            return GpuUse(None, None)
        use = self._gpus.read({reading.pid for reading in readings})
        if use.used_bytes is None:
            unavailable["gpu_memory"] = self._gpus.reason or "the driver did not report it"
        return use

    def _localhost_seconds(self, unavailable: dict[str, str]) -> float | None:
        try:
            return self._loopback.measure()
        except OSError as error:
            unavailable["localhost_latency"] = error.strerror or str(error) or type(error).__name__
            return None

    def _api_seconds(self, unavailable: dict[str, str]) -> float | None:
        if self._api is None:
            unavailable["api_latency"] = NOT_REQUESTED
            return None
        seconds = self._api.result()
        if seconds is None:
            unavailable["api_latency"] = self._api.reason
        self._api.request()
        return seconds

    def _level_rates(self, passed: float) -> tuple[LevelRate, ...]:
        before, self._levels_before = self._levels_before, self._levels()
        if passed <= 0:
            return ()
        return tuple(
            LevelRate(level, (items - before.get(level, 0.0)) / passed) for level, items in self._levels_before.items()
        )


def _io_known(readings: list[ProcessReading], unavailable: dict[str, str]) -> bool:
    """Return True if the I/O of some processes is known; add a reason if that of others is not."""
    unknown = sum(not reading.io_known for reading in readings)
    if unknown:
        unavailable["disk"] = f"{unknown} of {len(readings)} processes: no permission to read their I/O"
    return unknown < len(readings) or not readings


def _percent(amount: float, whole: float) -> float | None:
    return 100 * max(amount, 0.0) / whole if whole > 0 else None
