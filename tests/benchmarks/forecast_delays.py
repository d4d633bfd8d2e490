"""Measure how long before its end, or after its start, each fault is raised on many hosts with noise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.forecast.detectors import build_forecasts
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from tests.benchmarks.figure import Figure, plain, report

Floats = NDArray[np.float64]
HOSTS = 50
QUIET = 200
"""Readings before a fault begins."""

_START = 1.7e9
_TOTAL = 80 * 2.0**30
_RNG = np.random.default_rng(1)


@dataclass(frozen=True, slots=True)
class Fault:
    """Readings from step to step (step × host each), and the step from which the time is counted."""

    name: str
    kind: str
    readings: Mapping[str, Floats]
    counted_from: int
    ahead: bool = True  # the time is left until then; else it has passed since
    every: float = 1.0
    on: str = "host"


def _noise(steps: int, spread: float) -> Floats:
    return np.asarray(_RNG.normal(0, spread, (steps, HOSTS)))


def _grows(begin: float, end: float, steps: int, spread: float = 0.002) -> Floats:
    """A quiet time, and a straight line to the end."""
    line = np.concatenate([np.full(QUIET, begin), np.linspace(begin, end, steps + 1)[1:]])
    return line[:, None] + _noise(len(line), spread)


def _fills(name: str, seconds: float, *, every: float = 1.0) -> Fault:
    steps = round(seconds / every)
    return Fault(
        f"host memory fills from 40 % in {name}", "memory_exhaustion",
        {"memory_used_ratio": np.minimum(_grows(0.4, 1.0, steps), 1.0)}, QUIET + steps, every=every,
    )  # fmt: skip


def _gpu_fills(minutes: int) -> Fault:
    used = np.minimum(_grows(0.5, 1.0, 60 * minutes, 0.0005), 1.0) * _TOTAL
    readings = {
        "gpu_memory_used_bytes": used,
        "gpu_memory_total_bytes": np.full_like(used, _TOTAL),
        "gpu_utilization_ratio": np.full_like(used, 0.9),
    }
    return Fault(
        f"a busy GPU's memory fills in {minutes} min (driver's figure)", "memory_exhaustion",
        readings, QUIET + 60 * minutes, on="gpu",
    )  # fmt: skip


def _leaks(gib_an_hour: float, known_hours: int = 26) -> Fault:
    """`known_hours`: how long memory was watched before; within a day from the first look a rise may be the day's."""
    hours = np.arange(60 * (known_hours + 20))[:, None] / 60
    use = 0.5 + gib_an_hour / 64 * np.maximum(hours - known_hours, 0) + _noise(len(hours), 0.001)
    seen = "" if known_hours >= 24 else f", seen for {known_hours} h before"
    return Fault(
        f"a leak of {gib_an_hour:g} GiB an hour, half of 64 GiB in use{seen}", "memory_leak",
        {"memory_used_ratio": np.minimum(use, 0.99)}, 60 * known_hours, ahead=False, every=60.0,
    )  # fmt: skip


def _warms(rate: float) -> Fault:
    steps = round(24 / rate)
    celsius = np.round(_grows(63, 87, steps, 0.4))
    readings = {"gpu_temperature_celsius": celsius, "gpu_slowdown_temperature_celsius": np.full_like(celsius, 87.0)}
    return Fault(
        f"a cooler fails, the core warms by {rate:g} °C a second", "thermal_slowdown", readings, QUIET + steps, on="gpu"
    )


def _slowed() -> Fault:
    flag = np.zeros((QUIET + 60, HOSTS))
    flag[QUIET:] = 1
    return Fault(
        "the hardware slows for heat",
        "thermal_slowdown",
        {"gpu_throttle_active/hw_thermal": flag},
        QUIET,
        False,
        on="gpu",
    )


def _disk(hours: int) -> Fault:
    use = np.minimum(_grows(0.5, 1.0, hours * 360, 0.0002), 1.0)
    readings = {"filesystem_used_ratio": use, "filesystem_total_bytes": np.full_like(use, 1e12)}
    return Fault(f"a disk fills up in {hours} h", "disk_full", readings, QUIET + hours * 360, every=10.0, on="mount")


def _pressed() -> Fault:
    some = np.zeros((QUIET + 60, HOSTS))
    some[QUIET:] = 0.3
    readings = {"pressure_seconds_total/memory/some": some, "pressure_seconds_total/memory/full": some / 3}
    return Fault("work stalls for memory (30 % of the time)", "memory_pressure", readings, QUIET, False)


def _stuck(energy: bool) -> Fault:
    steps = QUIET + 300
    power = 650 + _noise(steps, 8)
    readings = {
        "gpu_power_watts": power,
        "gpu_utilization_ratio": np.full_like(power, 0.95),
        "gpu_temperature_celsius": np.full_like(power, 64.0),
        "gpu_sm_clock_hertz": np.full_like(power, 1.98e9),
    }
    if energy:
        readings["gpu_energy_joules_total"] = np.cumsum(power, axis=0)
        readings["gpu_energy_joules_total"][QUIET:] = readings["gpu_energy_joules_total"][QUIET]
    else:
        power[QUIET:] = power[QUIET]
    name = "an energy counter that is stuck" if energy else "all readings of a busy GPU are stuck"
    return Fault(name, "stuck_telemetry", readings, QUIET, False, on="gpu")


FAULTS: tuple[Callable[[], Fault], ...] = (
    lambda: _fills("10 s", 10),
    lambda: _fills("1 min", 60),
    lambda: _fills("30 min", 1800),
    lambda: _fills("10 min, read every 57 s", 570, every=57.0),
    lambda: _fills("60 min, read every 57 s", 3591, every=57.0),
    lambda: _gpu_fills(5),
    lambda: _leaks(8),
    lambda: _leaks(2),
    lambda: _leaks(0.5),
    lambda: _leaks(1, known_hours=1),
    _pressed,
    lambda: _warms(0.1),
    lambda: _warms(0.3),
    lambda: _warms(1),
    _slowed,
    lambda: _disk(6),
    lambda: _stuck(energy=True),
    lambda: _stuck(energy=False),
)


def first_raised(fault: Fault) -> Floats:
    """For each host the step at which the kind was first raised; NaN: never."""
    machines = Machines(HOSTS, gpus=1, mounts=("/data",))
    detectors, conditions = build_forecasts(ForecastSettings()), Conditions()
    first = np.full(HOSTS, np.nan)
    for step in range(len(next(iter(fault.readings.values())))):
        readings = {name: values[step] for name, values in fault.readings.items()}
        view = ArrayView(
            machines, _START + fault.every * step,
            host=readings if fault.on == "host" else None,
            gpu=readings if fault.on == "gpu" else None,
            mount=readings if fault.on == "mount" else None,
        )  # fmt: skip
        claims = [claim for detector in detectors for claim in detector.observe(view)]
        for event in conditions.apply(claims, view.now_ns):
            if event.state is State.RAISED and event.kind.name == fault.kind:
                host = int(event.subject.host.rpartition("-")[2])
                first[host] = np.fmin(first[host], step)
    return first


def figure(fault: Fault) -> Figure:
    """Return the median time and the number of raised faults; for a forecast the time before the end."""
    first = first_raised(fault)
    times = (fault.counted_from - first) * fault.every * (1 if fault.ahead else -1)
    good = times > 0 if fault.ahead else times >= 0
    median = float(np.median(times[good])) if good.any() else float("nan")
    note = f"{'before' if fault.ahead else 'after'}; raised on {good.sum()} of {HOSTS}"
    if good.any():
        bound = np.quantile(times[good], 0.1 if fault.ahead else 0.9)
        note += f", one in ten {'less' if fault.ahead else 'more'} than {bound:.0f} s"
    return plain(fault.name, median, "s", note)


if __name__ == "__main__":
    report([figure(make()) for make in FAULTS])
