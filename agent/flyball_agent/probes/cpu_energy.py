"""Energy used by CPU packages and their memory, from RAPL through powercap (Intel and AMD)."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, count, entries, read_number, read_text
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason

MICRO = 1_000_000
PREFIX = "intel-rapl:"  # AMD's domains have the same name; intel-rapl-mmio lists the same packages again
LIMIT_EVERY = 10
"""Power limits are read every tenth time, because only an operator changes them."""
REMEDY = (
    "energy is readable only by root since CVE-2020-8694: give the agent CAP_DAC_READ_SEARCH, "
    "or give its group read permission for /sys/class/powercap/intel-rapl:*/energy_uj"
)

ENERGY = counter("cpu_energy_joules_total", "joules", "Energy used by a power domain.", ("zone",), scale=1000)
LIMIT = gauge("cpu_power_limit_watts", "watts", "Long-term power limit of a domain.", ("zone",), scale=1000)


def new_total(total: int, before: int, now: int, wraps_at: int | None) -> int | None:
    """Return the total after a reading. A counter that fell has wrapped; without its range the total is unknown."""
    if now >= before:
        return total + now - before
    return None if wraps_at is None or before > wraps_at else total + now + wraps_at - before


class Zone:
    """One power domain and its energy so far."""

    def __init__(self, folder: Path, label: str) -> None:
        self._energy = KernelFile(folder / "energy_uj", size=64, denied_remedy=REMEDY)
        self._wraps_at = read_number(folder / "max_energy_range_uj")
        self._limit = KernelFile(folder / "constraint_0_power_limit_uw", size=64)
        self._limit_watts: PeriodicReading[float | None] = PeriodicReading(LIMIT_EVERY)
        self._before: int | None = None
        self._total = 0
        self.label = label

    def joules(self) -> float | None:
        """Return the energy so far. Raise `Unavailable` if it cannot be read."""
        now = count(self._energy.read())
        if now is None:
            return None
        total = now if self._before is None else new_total(self._total, self._before, now, self._wraps_at)
        self._before, self._total = now, now if total is None else total
        return self._total / MICRO

    def limit_watts(self) -> float | None:
        """Return the power limit."""
        return self._limit_watts.value(self._read_limit)

    def _read_limit(self) -> float | None:
        microwatts = count(self._limit.read_optional())
        return microwatts / MICRO if microwatts else None


def zone_label(powercap: Path, name: str) -> str:
    """Return the label of a zone, such as package-0/dram for `intel-rapl:0:2`."""
    label = read_text(powercap / name / "name") or name
    parent = name.rpartition(":")[0]
    return label if parent.count(":") == 0 else f"{zone_label(powercap, parent)}/{label}"


def zone_labels(labels: Mapping[str, str]) -> list[tuple[str]]:
    """Return the labels of all zones. A label that occurs twice is followed by the zone's folder."""
    often = Counter(labels.values())
    return [(label if often[label] == 1 else f"{label} {name}",) for name, label in labels.items()]


class CpuEnergyProbe:
    """Reads the energy of all power domains. The collector computes power from it."""

    name = "cpu_energy"
    metrics = (ENERGY, LIMIT)
    every_seconds = 0.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        powercap = sys_root / "class/powercap"
        self._columns = GroupedColumns(self.metrics)
        self._gaps = Gaps(self.name, "not provided by this domain", Reason.UNSUPPORTED)
        self._zones: Devices[Zone] = Devices(
            lambda: [name for name in entries(powercap) if name.startswith(PREFIX)],
            lambda name: Zone(powercap / name, zone_label(powercap, name)),
        )

    def read(self) -> ProbeSample:
        zones = self._zones.current()
        if not zones:
            self._zones.request_scan()
            raise Absent("no RAPL power domain", "normal in a virtual machine; else load intel_rapl_msr")
        values: list[Value] = []
        for zone in zones.values():
            values += (self._joules(zone), zone.limit_watts())
        columns = self._columns.columns(zone_labels({name: zone.label for name, zone in zones.items()}))
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))

    def _joules(self, zone: Zone) -> float | None:
        try:
            return zone.joules()
        except Denied:
            raise
        except Unavailable:
            self._zones.request_scan()
            return None
