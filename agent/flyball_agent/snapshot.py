"""A snapshot of all probes: their readings, and the reasons of unavailable ones."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flyball_agent.clock import KernelClock
from flyball_agent.host import build_probes, host_name
from flyball_agent.runner import ProbeSlot, Runner
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

PATIENCE_SECONDS = 10.0
"""Time limit of a probe. A driver may take seconds to wake up, and no tick waits here."""

COMPARE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class ProbeSnapshot:
    """The readings of one probe."""

    name: str
    readings: Sequence[tuple[Column, float | None]]
    unavailable: Sequence[UnavailableReading]

    @property
    def known(self) -> int:
        return sum(value is not None for _, value in self.readings)


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """The readings of one host."""

    host: str
    time_ns: int
    probes: Sequence[ProbeSnapshot]
    processes: Sequence[pb.GpuProcess]
    seconds: float


def take_snapshot(settings: AgentSettings) -> HostSnapshot:
    """Read every probe twice with a short pause, because some readings are differences to the previous one."""
    clock = KernelClock()
    probes = build_probes(settings)
    self_metrics = SelfMetrics()
    runner = Runner([*probes.all, SelfProbe(self_metrics)], PATIENCE_SECONDS, 2 * PATIENCE_SECONDS)
    self_metrics.slots = runner.slots[:-1]
    wall_ns, started_ns = clock.wall_ns(), clock.boot_ns()
    runner.run(started_ns)
    seconds = (clock.boot_ns() - started_ns) / 1e9
    time.sleep(COMPARE_SECONDS)
    slots = runner.run(clock.boot_ns())
    runner.stop()
    processes = [process for accelerator in probes.accelerators for process in accelerator.processes]
    return HostSnapshot(host_name(settings), wall_ns, [_of(slot) for slot in slots], processes, seconds)


def _of(slot: ProbeSlot) -> ProbeSnapshot:
    values = [None if value is None else float(value) for value in slot.values]
    return ProbeSnapshot(slot.probe.name, list(zip(slot.columns, values, strict=True)), slot.unavailable)


def by_resource(probe: ProbeSnapshot) -> Iterator[tuple[str, list[tuple[Column, float | None]]]]:
    """Yield the readings of each resource. Those of the host itself have an empty name."""
    groups: dict[str, list[tuple[Column, float | None]]] = {}
    for column, value in probe.readings:
        name = ", ".join(f"{label} {text}" for label, text in column.label_pairs())
        groups.setdefault(name, []).append((column, value))
    yield from groups.items()
