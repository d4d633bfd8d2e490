"""Pressure stall information (PSI): time in which tasks waited for CPU, memory or I/O."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, number_after
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Unsupported, Value
from flyball_proto.metric import counter, gauge

RESOURCES = ("cpu", "memory", "io")
REMEDY = "boot with psi=1 (kernel 4.20 or newer, built with CONFIG_PSI)"

METRICS = (
    gauge(
        "pressure_ratio",
        "ratio",
        "Share of the last 10 s in which at least one task (some) or all tasks (full) waited for the resource.",
        ("resource", "extent"),
        scale=10_000,
    ),
    counter(
        "pressure_seconds_total",
        "seconds",
        "Time in which at least one task (some) or all tasks (full) waited for the resource.",
        ("resource", "extent"),
        scale=1000,
    ),
)
_LABELS = tuple((resource, extent) for resource in RESOURCES for extent in ("some", "full"))


def parse_pressure(data: bytes) -> list[Value]:
    """Return ratio and seconds for "some" and for "full"; before kernel 5.13 the CPU has no "full"."""
    some, found, full = data.partition(b"\nfull ")
    return [*_line(some), *(_line(full) if found else (None, None))]


def _line(line: bytes) -> tuple[float | None, float | None]:
    start = line.find(b"avg10=")
    try:
        percent = float(line[start + 6 : line.index(b" ", start)])
    except ValueError:
        return None, None
    microseconds = number_after(line, b"total=")
    ratio = percent / 100 if start >= 0 and 0 <= percent <= 100 else None
    return ratio, None if microseconds is None else microseconds / 1_000_000


class PressureProbe:
    """Reads the pressure on CPU, memory and I/O."""

    name = "pressure"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._files = [KernelFile(proc_root / "pressure" / resource, size=256) for resource in RESOURCES]
        self._columns = GroupedColumns(METRICS).columns(_LABELS)
        self._gaps = Gaps(self.name, "not provided by this kernel", remedy=REMEDY)

    def read(self) -> ProbeSample:
        values: list[Value] = []
        failures: list[Unavailable] = []
        for file in self._files:
            try:
                values += parse_pressure(file.read())
            except Unavailable as failure:
                failures.append(failure)
                values += (None, None, None, None)
        if len(failures) == len(self._files):
            self._raise_reason(failures[0])
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))

    def _raise_reason(self, failure: Unavailable) -> None:
        if isinstance(failure, Absent | Unsupported):  # without psi=1 the files are missing or not readable
            raise Absent("this kernel does not measure pressure", REMEDY) from None
        raise failure
