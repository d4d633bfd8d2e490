"""Measure forecasts of thermal slowdown on heating curves of a die on a heat sink (an RC model)."""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.forecast.thermal_slowdown import ThermalSlowdown
from tests.benchmarks.figure import Figure, at_least, at_most, plain, report
from tests.benchmarks.quiet_hosts import log_uniform

Floats = NDArray[np.float64]

SEED = 20_261_130
GPUS = 150
SECONDS, QUIET = 900, 60
ABOVE, BELOW = (1, 2, 4, 8, 20), (-2, -3, -5)
"""Degrees of the rest relative to the limit."""

_START = 1.7e9


class Curves(NamedTuple):
    """Temperatures (second × GPU) as they are and as sensors report them, and the limits."""

    celsius: Floats
    readings: Floats
    limit: Floats


def curves(rng: np.random.Generator, gpus: int, above: float) -> Curves:
    """Draw curves: the die warms within seconds, its heat sink within minutes; whole degrees or tenths."""
    begin, limit = rng.uniform(30, 50, gpus), np.round(rng.uniform(83, 95, gpus))
    slow, fast, part = log_uniform(rng, (15, 200), gpus), log_uniform(rng, (2, 6), gpus), rng.uniform(0.3, 0.6, gpus)
    time = np.maximum(np.arange(SECONDS)[:, None] - QUIET, 0.0)
    warmth = 1 - part * np.exp(-time / fast) - (1 - part) * np.exp(-time / slow)
    celsius = begin + (limit + above - begin) * warmth
    read = celsius + rng.uniform(0.05, 0.4, gpus) * rng.normal(size=celsius.shape)
    return Curves(celsius, np.where(rng.random(gpus) < 0.6, np.round(read), np.round(read, 1)), limit)


def first_events(drawn: Curves) -> dict[int, tuple[int, Event]]:
    """Return for each GPU the second and the event of the first report."""
    gpus = len(drawn.limit)
    machines, detector, conditions = Machines(gpus, gpus=1), ThermalSlowdown(ForecastSettings()), Conditions()
    first: dict[int, tuple[int, Event]] = {}
    for second, celsius in enumerate(drawn.readings):
        gpu = {"gpu_temperature_celsius": celsius, "gpu_slowdown_temperature_celsius": drawn.limit}
        view = ArrayView(machines, _START + second, gpu=gpu)
        for event in conditions.apply(detector.observe(view), view.now_ns):
            if event.state is State.RAISED:
                first.setdefault(int(event.subject.host.rpartition("-")[2]), (second, event))
    return first


def holds(event: Event, left: float) -> bool:
    """Return True if the interval of a report holds the time that was left, to a reading."""
    low, high = event.seconds_left_low, event.seconds_left_high
    return low is not None and high is not None and low - 1 <= left <= high + 1


def _rising(rng: np.random.Generator, gpus: int, above: float) -> tuple[Figure, list[bool]]:
    """Return the leads of curves that pass the limit, and whether the intervals of forecasts hold."""
    drawn = curves(rng, gpus, above)
    ends, first = np.argmax(drawn.celsius >= drawn.limit, axis=0), first_events(drawn)
    leads = np.array([ends[gpu] - first[gpu][0] if gpu in first else 0 for gpu in range(gpus)])
    forecasts = {gpu: event for gpu, (_, event) in first.items() if event.seconds_left and leads[gpu] > 0}
    held = [holds(event, float(leads[gpu])) for gpu, event in forecasts.items()]
    note = f"forecast on {len(forecasts)} of {gpus}; one in ten less than {np.quantile(leads, 0.1):.0f} s"
    return plain(f"a rest {above:g} °C above the limit", float(np.median(leads)), "s before", note), held


def figures(gpus: int, seed: int) -> list[Figure]:
    """Return coverage, leads and false alarms."""
    rng, held, found = np.random.default_rng(seed), list[bool](), list[Figure]()
    for above in ABOVE:
        lead, holding = _rising(rng, gpus, above)
        found.append(lead)
        held += holding
    for below in BELOW:
        alarms = len(first_events(curves(rng, 2 * gpus, below)))
        note = f"{alarms} of {2 * gpus}"
        found.append(
            at_most(f"alarms at a rest {-below:g} °C below the limit", alarms / gpus / 2, 0.01, "of curves", note)
        )
    print(f"seed {seed}", file=sys.stderr)
    return [at_least("the interval of a forecast holds the time", float(np.mean(held)), 0.85, "of forecasts"), *found]


if __name__ == "__main__":
    report(figures(GPUS, SEED))
