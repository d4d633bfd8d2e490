"""Clock of the cores, and thermal throttles of cores and packages, from sysfs."""

from collections.abc import Callable, Sequence
from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, count, count_of, entries, read_text
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge

MEGAHERTZ = 1_000_000
MILLI = 1000
THROTTLE = "thermal_throttle"
FASTEST_KILOHERTZ = 20_000_000  # no processor reaches 20 GHz; more is nonsense

METRICS = (
    gauge("cpu_frequency_min_hertz", "hertz", "Clock of the slowest core, rounded to megahertz."),
    gauge("cpu_frequency_mean_hertz", "hertz", "Mean clock of the cores, rounded to megahertz."),
    gauge("cpu_frequency_max_hertz", "hertz", "Clock of the fastest core, rounded to megahertz."),
    counter(
        "cpu_thermal_throttles_total", "events", "Times that a core was throttled by heat, over all cores (Intel)."
    ),
)
_PACKAGE = ("package",)
PACKAGE = (
    counter("cpu_package_throttles_total", "events", "Times that the package was throttled by heat (Intel).", _PACKAGE),
    counter(
        "cpu_package_throttled_seconds_total",
        "seconds",
        "Time in which the package was throttled by heat (Intel, since Linux 5.8).",
        _PACKAGE,
        MILLI,
    ),
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
    metrics = (*METRICS, *PACKAGE)
    every_seconds = 5.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        cpus = sys_root / "devices/system/cpu"
        self._columns = GroupedColumns(METRICS, PACKAGE)
        self._gaps = Gaps(self.name, "not provided by this processor or its driver")
        self._clocks = _files(cpus, "cpufreq/scaling_cur_freq", lambda names: names)
        self._throttles = _files(cpus, f"{THROTTLE}/core_throttle_count", lambda names: _one_each(cpus, names, _core))
        self._packages: Devices[Package] = Devices(
            lambda: _one_each(cpus, _with_file(cpus, f"{THROTTLE}/package_throttle_count"), _package),
            lambda name: Package(cpus / name),
        )

    def read(self) -> ProbeSample:
        clocks = [clock for clock in _numbers(self._clocks) if clock < FASTEST_KILOHERTZ]
        throttles, packages = _numbers(self._throttles), list(self._packages.current().values())
        if not clocks and not throttles and not packages:
            raise Absent("no cpufreq driver", "normal in a virtual machine, whose host sets the clock")
        values: list[Value] = [*frequencies(clocks)] if clocks else [None, None, None]
        values.append(sum(throttles) if throttles else None)
        for package in packages:
            values += package.values()
        columns = self._columns.columns(ONE, [package.labels for package in packages])
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))


class Package:
    """The open files of one package: each of its cores has the same counters."""

    def __init__(self, cpu: Path) -> None:
        self._events = KernelFile(cpu / THROTTLE / "package_throttle_count", size=64)
        self._milliseconds = KernelFile(cpu / THROTTLE / "package_throttle_total_time_ms", size=64)
        self.labels = (_package(cpu),)

    def values(self) -> list[Value]:
        milliseconds = count_of(self._milliseconds)
        return [count_of(self._events), None if milliseconds is None else milliseconds / MILLI]


def _package(cpu: Path) -> str:
    return read_text(cpu / "topology/physical_package_id") or "0"


def _core(cpu: Path) -> str:
    """Return a name for the core. Its hardware threads have the same name, because they count the same throttles."""
    core = read_text(cpu / "topology/core_id")
    return f"{_package(cpu)}/{core}" if core else cpu.name


def _one_each(cpus: Path, names: Sequence[str], unit: Callable[[Path], str]) -> list[str]:
    """Return the first of the processors in each core or package."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(unit(cpus / name), name)
    return list(first.values())


def _with_file(cpus: Path, path: str) -> list[str]:
    cores = (name for name in entries(cpus) if name.startswith("cpu") and name[3:].isdigit())
    return [name for name in cores if (cpus / name / path).exists()]


def _files(cpus: Path, path: str, choose: Callable[[list[str]], list[str]]) -> Devices[KernelFile]:
    return Devices(lambda: choose(_with_file(cpus, path)), lambda name: KernelFile(cpus / name / path, size=64))


def _numbers(files: Devices[KernelFile]) -> list[int]:
    found = []
    for file in files.current().values():
        try:
            value = count(file.read())
        except Unavailable:  # the core went offline
            files.request_scan()
            continue
        if value is not None:
            found.append(value)
    return found
