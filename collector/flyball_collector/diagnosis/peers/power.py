"""Detects GPUs at their power limit that are therefore slower than their peers, or than before.

Running at the power limit is normal for a training, so the limit alone does not count. A lower clock at the same limit
does not count either, unless the other GPUs are known to do the same work: heavier work runs at lower clocks. A lower
power limit than before counts by itself.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.peers.groups import Groups, Peers
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BUSY = 0.5
_FULLY_BUSY = 0.9
_PAST_SECONDS = 300.0  # time constant of the usual values
_LEAST_PAST_SECONDS = 60.0
_ALIKE = 0.03  # half of the peers with the same work have clocks within this share
_LOWER_LIMIT = 0.97  # of the earlier limit
_NO_MORE_POWER = 1.02  # of the usual power: work that draws more may run at a lower clock at the limit


class PowerCapDetector:
    """Reports `power_capped`."""

    name = "power_cap"
    kinds = (BY_NAME["power_capped"],)
    needs: Sequence[str] = ("gpu_sm_clock_hertz",)

    def __init__(self, settings: PeerSettings, peers: Peers) -> None:
        self._settings = settings
        self._peers = peers
        self._past = SubjectArrays(clock=float("nan"), power=float("nan"), limit=float("nan"), seconds=0.0)
        self._updated = float("nan")

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
        """Compare with GPUs that do the same work, and with all near GPUs if these have a higher limit."""
        near = self._peers.of(view)
        lower = limit < _LOWER_LIMIT * near.quantile(np.where(np.isnan(clock), np.nan, limit), 0.5)
        among_near = np.where(lower, _among(near, clock, power), np.nan)
        return np.fmin(_among(self._peers.same_work(view), clock, power), among_near)

    def _against_past(self, view: View, clock: Floats, power: Floats, busy: Floats, limit: Floats) -> Floats:
        """Compare with the clock at full work under a higher limit. Under the same limit, other work may be slower."""
        past = self._past
        past.align(view.gpus)
        passed = 0.0 if np.isnan(self._updated) else max(0.0, view.now - self._updated)
        self._updated = view.now
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
    """Compare with the median of a group, if half of the group agrees and the GPU draws no more power than it."""
    usual = groups.quantile(clock, 0.5)
    alike = groups.quantile(np.abs(clock - usual), 0.5) <= _ALIKE * usual
    heavier = power > _NO_MORE_POWER * groups.quantile(power, 0.5)
    return np.where((groups.known(clock) >= 2) & alike & ~heavier, clock / usual, np.nan)


def _confidence(peers: Flags, past: Flags, reported: Flags) -> Floats:
    sure: Floats = np.where(peers & past, 0.9, np.where(peers, 0.8, 0.7)) + np.where(reported, 0.05, 0.0)
    return sure


def _words(load: float, peers: float, past: float, entry: float) -> str:
    where = "at its power limit" if np.isnan(load) else f"draws {100 * load:.0f} % of its power limit"
    slower = []
    if peers < entry:
        slower.append(f"{100 * peers:.0f} % of its peers' clock")
    if past < entry:
        slower.append(f"{100 * past:.0f} % of its earlier clock")
    return f"{where}; its clock is {' and '.join(slower) or 'slightly lower than usual'}"
