"""The input of GPU scores: readings of the last ten seconds along GPUs."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.evidence import Ramp, within
from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.signal_list import HELD_BYTES
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_LANE_BYTES = np.array([0.0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9])
"""Bytes a second of a PCIe lane in each direction, by generation, after line coding.

Source: PCI-SIG base specifications 1.0 to 6.0."""

_PROTOCOL = 0.85
"""The share of this that remains for data after packet headers and flow control."""

SWING_SECONDS = 20.0

LONG_SECONDS = 240.0
"""Time constant of the long mean, which shows steady use."""

_STEADY, _STEADY_ALONE = 0.08, 0.05
"""Use is steady while the mean of seconds differs from that of minutes by at most this: under a run, and without."""

_STEADY_SPREAD, _STEADY_SPREAD_ALONE = 0.2, 0.08
"""The same of the spread of seconds. Without a run, the GPU may answer requests, which come unsteadily."""

_PARTLY = (0.08, 0.78)  # use that is neither idle nor full
_LOST = 4.0  # steady time that an unsteady second takes away; a short evaluation does not end it
_MOST_STEADY_SECONDS = 900.0


class GpuSignals:
    """Signals along GPUs; NaN is unknown."""

    def __init__(self) -> None:
        self._swing = SubjectArrays(
            mean=float("nan"),
            spread=float("nan"),
            long_mean=float("nan"),
            steady=0.0,
            last=float("nan"),
            updates=0,
            held=0.0,
        )
        self.gpus = self._swing.subjects
        self._odds: dict[tuple[Ramp, str], Floats] = {}

    def update(self, view: View, rates: Rates, trains: Flags) -> None:
        """Take the readings of a second. `trains`: hosts with a run that reports its steps."""
        self.gpus, self._odds = view.gpus, {}
        now = view.gpu("gpu_utilization_ratio")
        self.busy = view.gpu("gpu_utilization_ratio", 10)
        self.sm = view.gpu("gpu_sm_active_ratio", 10)
        self.tensor = view.gpu("gpu_tensor_active_ratio", 10)
        self.memory = np.fmax(view.gpu("gpu_dram_active_ratio", 10), np.nan)
        controller = view.gpu("gpu_memory_controller_utilization_ratio")
        self.memory_reported = ~np.isnan(self.memory)
        self.memory = np.where(self.memory_reported, self.memory, controller)
        self.power = view.gpu("gpu_power_watts", 10) / view.gpu("gpu_power_limit_watts")
        self.clock = view.gpu("gpu_sm_clock_hertz", 10) / view.gpu("gpu_sm_clock_max_hertz")
        self.pcie = self._pcie(view, rates)
        self.held = view.gpu("gpu_memory_used_bytes") > HELD_BYTES
        self._note_swing(view, now, np.append(trains, False)[view.gpus.hosts])

    def odds(self, ramp: Ramp, name: str) -> Floats:
        """Return the log-odds of one of the readings. Several kinds use the same ones."""
        key = ramp, name
        if key not in self._odds:
            self._odds[key] = ramp(getattr(self, name))
        return self._odds[key]

    @property
    def spread(self) -> Floats:
        """The standard deviation of the utilisation over about the last half minute."""
        return np.asarray(np.sqrt(self._swing["spread"]))

    @property
    def mean(self) -> Floats:
        """The mean utilisation over the same time."""
        return np.asarray(self._swing["mean"])

    @property
    def long_mean(self) -> Floats:
        """The mean utilisation over the last minutes."""
        return np.asarray(self._swing["long_mean"])

    @property
    def steady_seconds(self) -> Floats:
        """For each GPU, how long it has worked part of the time without large changes."""
        return np.asarray(self._swing["steady"])

    @property
    def held_seconds(self) -> Floats:
        """For each GPU, how long its memory has been in use."""
        return np.asarray(self._swing["held"])

    @property
    def updates(self) -> NDArray[np.int64]:
        """The number of utilisation readings in a row."""
        return self._swing["updates"]

    def _note_swing(self, view: View, now: Floats, trains: Flags) -> None:
        kept = self._swing
        kept.align(view.gpus)
        passed = _once(known_or(0.0, view.now - kept["last"]))
        weight = 1 - np.exp(-passed / SWING_SECONDS)
        known = ~np.isnan(now)
        away = now - kept["mean"]
        fresh = np.isnan(kept["mean"]) & known
        mean = np.where(known, kept["mean"] + weight * away, kept["mean"])
        spread = np.where(known, (1 - weight) * (kept["spread"] + weight * away**2), kept["spread"])
        np.copyto(mean, now, where=fresh)
        np.copyto(spread, 0.0, where=fresh)
        kept["mean"], kept["spread"] = mean, spread
        kept["updates"] = np.where(known, np.minimum(kept["updates"] + 1, 10_000), 0)
        kept["held"] = np.where(self.held, kept["held"] + passed, 0.0)
        self._note_steady(passed, known, trains)
        kept["last"][:] = view.now

    def _note_steady(self, passed: Floats, known: Flags, trains: Flags) -> None:
        """Follow the use of minutes, and how long it has been neither idle nor full nor changing."""
        kept = self._swing
        away = kept["mean"] - kept["long_mean"]
        weight = 1 - np.exp(-passed / LONG_SECONDS)
        moved = np.where(known, kept["long_mean"] + weight * away, kept["long_mean"])
        kept["long_mean"] = np.where(np.isnan(moved), kept["mean"], moved)
        low, high = _PARTLY
        steady = self.held & (kept["mean"] >= low) & (kept["mean"] <= high)
        rows = np.flatnonzero(steady)  # few: most GPUs work fully, or not at all
        of_run = trains[rows]
        steady[rows] = np.abs(away[rows]) <= np.where(of_run, _STEADY, _STEADY_ALONE)
        steady[rows] &= np.sqrt(kept["spread"][rows]) <= np.where(of_run, _STEADY_SPREAD, _STEADY_SPREAD_ALONE)
        more = kept["steady"] + np.where(steady, passed, -_LOST * passed)
        kept["steady"] = np.where(known, within(more, 0.0, _MOST_STEADY_SECONDS), kept["steady"])

    def _pcie(self, view: View, rates: Rates) -> Floats:
        """Return the utilisation of the link in its busier direction, at its current generation and width."""
        generation = np.clip(known_or(0.0, view.gpu("gpu_pcie_generation")), 0, len(_LANE_BYTES) - 1)
        limit = _PROTOCOL * _LANE_BYTES[generation.astype(np.int64)] * view.gpu("gpu_pcie_width_lanes")
        moved = np.fmax(view.gpu("gpu_pcie_receive_bytes_total", 10), rates.gpu("gpu_pcie_transmit_bytes_total"))
        found = np.full(len(limit), np.nan)
        np.divide(moved, limit, out=found, where=limit > 0)
        return np.asarray(np.minimum(found, 1.0))


def _once(values: Floats) -> Floats:
    """Return equal values as one value: its exponential is then computed once."""
    return values[:1] if len(values) and (values == values[0]).all() else values
