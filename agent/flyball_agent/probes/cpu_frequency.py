"""Clock of the cores and number of thermal throttles, from sysfs."""

from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, entries, number
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge

MEGAHERTZ = 1_000_000

METRICS = (
    gauge("cpu_frequency_min_hertz", "hertz", "Clock of the slowest core, rounded to megahertz."),
    gauge("cpu_frequency_mean_hertz", "hertz", "Mean clock of the cores, rounded to megahertz."),
    gauge("cpu_frequency_max_hertz", "hertz", "Clock of the fastest core, rounded to megahertz."),
    counter("cpu_thermal_throttles_total", "events", "Thermal throttles, summed over the cores (Intel)."),
)


def frequencies(kilohertz: list[int]) -> tuple[int, int, int]:
    """Return minimum, mean and maximum in hertz, rounded to megahertz: smaller differences are noise."""
    lowest, highest, mean = min(kilohertz), max(kilohertz), sum(kilohertz) / len(kilohertz)
    return (
        round(lowest / 1000) * MEGAHERTZ,
        round(mean / 1000) * MEGAHERTZ,
        round(highest / 1000) * MEGAHERTZ,
    )


class CpuFrequencyProbe:
    """Reads one small file per core, and therefore not at each tick."""

    name = "cpu_frequency"
    metrics = METRICS
    every_seconds = 5.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        cpus = sys_root / "devices/system/cpu"
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this processor or its driver")
        self._clocks = _core_files(cpus, "cpufreq/scaling_cur_freq")
        self._throttles = _core_files(cpus, "thermal_throttle/core_throttle_count")

    def read(self) -> ProbeSample:
        clocks, throttles = _numbers(self._clocks), _numbers(self._throttles)
        if not clocks and not throttles:
            raise Absent("no cpufreq driver", "normal in a virtual machine, whose host sets the clock")
        values: list[Value] = [*frequencies(clocks)] if clocks else [None, None, None]
        values.append(sum(throttles) if throttles else None)
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))


def _core_files(cpus: Path, path: str) -> Devices[KernelFile]:
    def names() -> list[str]:
        cores = (name for name in entries(cpus) if name.startswith("cpu") and name[3:].isdigit())
        return [name for name in cores if (cpus / name / path).exists()]

    return Devices(names, lambda name: KernelFile(cpus / name / path, size=64))


def _numbers(files: Devices[KernelFile]) -> list[int]:
    found = []
    for file in files.current().values():
        try:
            value = number(file.read())
        except Unavailable:  # the core went offline
            files.request_scan()
            continue
        if value is not None and value >= 0:
            found.append(value)
    return found
