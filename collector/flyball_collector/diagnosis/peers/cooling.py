"""Detects GPUs that are hotter than their peers under the same load: dust, a fan, thermal paste, hot intake air."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.peers.groups import Groups, Peers
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

_SECONDS, _LONGER_SECONDS = 60, 300
_FEW_SAMPLES = 3  # with fewer readings in the first time, the second time is used
_PEERS = 4
_SPREADS = 3.5
_LEAST_SPREAD = 2.0  # celsius; positions on a board differ by as much
_EQUAL_POWER = 0.15
_EQUAL_BUSY = 0.15
_LEAVE = 0.5  # of the entry level, while the GPU is still the hottest


class CoolingDetector:
    """Reports `cooling_outlier`: GPUs above the median of their peers by degrees and by the peers' spread."""

    name = "cooling"
    kinds = (BY_NAME["cooling_outlier"],)
    needs: Sequence[str] = ("gpu_temperature_celsius",)

    def __init__(self, settings: PeerSettings, peers: Peers) -> None:
        self._least = settings.hotter_celsius
        self._peers = peers

    def observe(self, view: View) -> Iterable[Claims]:
        if not len(view.gpus):
            return ()
        groups = self._peers.of(view)
        heat, power, busy = _usual(view)
        usual, usual_power = groups.others_median(heat), groups.others_median(power)
        spread = np.maximum(1.4826 * groups.others_median(np.abs(heat - groups.quantile(heat, 0.5))), _LEAST_SPREAD)
        excess = heat - usual
        alike = _alike(power, usual_power) & ~_differed_before(view, groups)
        idle = np.abs(busy - groups.others_median(busy))
        known = alike & ~(idle > _EQUAL_BUSY) & (groups.known(heat) >= _PEERS)
        hottest = heat >= groups.quantile(heat, 1.0)
        return (
            Claims(
                kind=self.kinds[0],
                subjects=view.gpus,
                enters=(excess >= self._least) & (excess >= _SPREADS * spread),
                stays=(excess >= _LEAVE * self._least) & (hottest | (excess >= _SPREADS * spread)),
                known=known,
                confidence=np.clip(0.6 + 0.05 * (excess - self._least), 0.6, 0.9),
                because=lambda place: clauses(
                    ("{:.0f} °C at {:.0f} W", heat[place], power[place]),
                    ("its peers are at {:.0f} °C at {:.0f} W", usual[place], usual_power[place]),
                ),
                evidence={
                    "temperature_celsius": heat,
                    "peers_temperature_celsius": usual,
                    "peers_spread_celsius": spread,
                    "power_watts": power,
                    "peers_power_watts": usual_power,
                },
            ),
        )


def _alike(power: Floats, usual: Floats) -> NDArray[np.bool_]:
    return np.abs(power - usual) <= _EQUAL_POWER * usual


def _differed_before(view: View, groups: Groups) -> NDArray[np.bool_]:
    """Return True if its power differed from its peers' in the last minutes: heat outlasts the load that caused it."""
    power = view.gpu("gpu_power_watts", _LONGER_SECONDS)
    usual = groups.others_median(power)
    return ~np.isnan(power) & ~np.isnan(usual) & ~_alike(power, usual)


def _usual(view: View) -> tuple[Floats, Floats, Floats]:
    """Return temperature, power and use over a minute, or over five minutes if readings are sparse.

    A single reading raises nothing, because the condition must hold for a minute.
    """
    metrics = ("gpu_temperature_celsius", "gpu_power_watts", "gpu_utilization_ratio")
    heat, power, busy = (view.gpu(metric, _SECONDS) for metric in metrics)
    sparse = view.gpu_samples("gpu_temperature_celsius", _SECONDS) < _FEW_SAMPLES
    if not sparse.any():
        return heat, power, busy
    longer = (view.gpu(metric, _LONGER_SECONDS) for metric in metrics)
    heat, power, busy = (np.where(sparse, m, n) for m, n in zip(longer, (heat, power, busy), strict=True))
    return heat, power, busy
