"""GPUs held at their power limit that are slower for it than their peers, or than they were.

To run at the power limit is what a training does; so the limit alone says nothing. Nor does a lower clock at the same
limit, unless the others are known to do the same work: heavier work clocks lower. A lower limit speaks for itself.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.peers.groups import Groups, Peers
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BUSY = 0.5
_FULLY_BUSY = 0.9
_PAST_SECONDS = 300.0  # over which what was usual is smoothed
_LEAST_PAST_SECONDS = 60.0
_ALIKE = 0.03  # clocks of peers at the same work: half of them are within it
_LOWER_LIMIT = 0.97  # of what it was
_NO_MORE_POWER = 1.02  # of the usual: work that draws more may well clock lower at the limit


class PowerCapDetector:
    """Tells `power_capped`."""

    name = "power_cap"
    kinds = (BY_NAME["power_capped"],)
    needs: Sequence[str] = ("gpu_sm_clock_hertz",)

    def __init__(self, settings: PeerSettings, peers: Peers) -> None:
        self._settings = settings
        self._peers = peers
        self._past = Kept(clock=float("nan"), power=float("nan"), limit=float("nan"), seconds=0.0)
        self._looked = float("nan")

    def observe(self, view: View) -> Iterable[Claims]:
        if not len(view.gpus):
            return ()
        clock, power = view.gpu("gpu_sm_clock_hertz", 10), view.gpu("gpu_power_watts", 10)
        busy = view.gpu("gpu_utilization_ratio", 10)
        limit = view.gpu("gpu_power_limit_watts")
        capped = view.gpu("gpu_throttle_active", reason="sw_power_cap") > 0
        load = power / np.where(limit > 0, limit, np.nan)
        at_limit = (load >= self._settings.near_limit_ratio) | capped
        works = np.isnan(busy) | (busy >= _BUSY)
        against_peers = self._against_peers(view, np.where(works, clock, np.nan), np.where(works, power, np.nan), limit)
        against_past = self._against_past(view, clock, power, busy, limit)
        entry = self._settings.capped_clock_ratio
        leave = entry + 0.3 * (1 - entry)
        ratio = np.fmin(against_peers, against_past)
        return (
            Claims(
                kind=self.kinds[0],
                subjects=view.gpus,
                enters=at_limit & works & (ratio < entry),
                stays=(at_limit | (load >= self._settings.near_limit_ratio - 0.05)) & (ratio < leave),
                known=~np.isnan(clock) & (~np.isnan(load) | capped),
                confidence=_confidence(against_peers < entry, against_past < entry, at_limit & capped),
                level=np.clip(1 - ratio, 0, 1),
                because=lambda place: _words(load[place], against_peers[place], against_past[place], entry),
                evidence={
                    "power_of_limit_ratio": load,
                    "clock_of_peers_ratio": against_peers,
                    "clock_of_past_ratio": against_past,
                    "clock_hertz": clock,
                    "power_limit_watts": limit,
                },
            ),
        )

    def _against_peers(self, view: View, clock: Floats, power: Floats, limit: Floats) -> Floats:
        """The clock against GPUs that do the same work; against any on the host only where these may draw more."""
        near = self._peers.of(view)
        lower = limit < _LOWER_LIMIT * near.quantile(np.where(np.isnan(clock), np.nan, limit), 0.5)
        among_near = np.where(lower, _among(near, clock, power), np.nan)
        return np.fmin(_among(self._peers.same_work(view), clock, power), among_near)

    def _against_past(self, view: View, clock: Floats, power: Floats, busy: Floats, limit: Floats) -> Floats:
        """The clock against what it was at full work under a higher limit; under one limit other work clocks lower."""
        past = self._past
        past.align(view.gpus)
        passed = 0.0 if np.isnan(self._looked) else max(0.0, view.now - self._looked)
        self._looked = view.now
        ratio = clock / past["clock"]
        settled = past["seconds"] >= _LEAST_PAST_SECONDS
        slow = settled & (ratio < self._settings.capped_clock_ratio) & (power <= _NO_MORE_POWER * past["power"])
        learns = (busy >= _FULLY_BUSY) & ~np.isnan(clock) & ~np.isnan(power) & ~slow
        share = min(1.0, passed / _PAST_SECONDS)
        lower = limit < _LOWER_LIMIT * past["limit"]
        for name, now in (("clock", clock), ("power", power), ("limit", limit)):
            before = past[name]
            past[name] = np.where(learns, np.where(np.isnan(before), now, before + share * (now - before)), before)
        past["seconds"] = past["seconds"] + np.where(learns, passed, 0.0)
        return np.where(settled & lower, ratio, np.nan)


def _among(groups: Groups, clock: Floats, power: Floats) -> Floats:
    """Clocks against the usual one of the group, where half of the group agree and the GPU draws no more than they."""
    usual = groups.quantile(clock, 0.5)
    alike = groups.quantile(np.abs(clock - usual), 0.5) <= _ALIKE * usual
    heavier = power > _NO_MORE_POWER * groups.quantile(power, 0.5)
    return np.where((groups.known(clock) >= 2) & alike & ~heavier, clock / usual, np.nan)


def _confidence(peers: Flags, past: Flags, told: Flags) -> Floats:
    sure: Floats = np.where(peers & past, 0.9, np.where(peers, 0.8, 0.7)) + np.where(told, 0.05, 0.0)
    return sure


def _words(load: float, peers: float, past: float, entry: float) -> str:
    where = "held at its power limit" if np.isnan(load) else f"draws {load:.0%} of its power limit"
    slower = []
    if peers < entry:
        slower.append(f"{peers:.0%} of its peers'")
    if past < entry:
        slower.append(f"{past:.0%} of what it was")
    return f"{where} and its clock is {' and '.join(slower) or 'a little lower than usual'}"
