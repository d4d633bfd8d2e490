"""Gaps and losses: hosts of which no record comes although their agents did not say goodbye."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims, Flags, Floats
from flyball_collector.diagnosis.health.host_reports import HostReports, Presence
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View

GAP = BY_NAME["data_gap"]
LOST = BY_NAME["host_lost"]

_INTERVALS = 5  # a host that samples seldom may be silent for longer
_BLIND_SECONDS = 10.0  # a collector that did not look for this long blames nobody for what it missed


class PresenceDetector:
    """A host is silent since its newest record, its goodbye, or the collector's first look (again): the latest of them.

    A recording has no connection that could be lost, only gaps; one that ends within a gap is told when it goes on.
    """

    name = "presence"
    kinds: Sequence[EventKind] = (GAP, LOST)
    needs: Sequence[str] = ()

    def __init__(self, settings: HealthSettings, reports: HostReports) -> None:
        self._settings = settings
        self._reports = reports
        self._kept = Kept(since=float("nan"), received=float("nan"))
        self._looked = float("-inf")

    def observe(self, view: View) -> Iterable[Claims]:
        """Silent for how long, with or without a connection."""
        there = self._reports.presence(view)
        self._kept.align(view.everyone)
        recorded = ~there.agent
        jumped = self._jumps(view, there)
        self._kept["since"][there.goodbye] = view.now  # an agent's hello takes it back before its first record comes
        silent = view.now - np.fmax(there.received, self._kept["since"])
        patience = np.maximum(self._settings.gap_seconds, _INTERVALS * there.interval)
        met = recorded & (jumped > patience)
        gap = ~there.goodbye & (there.received > 0) & ((silent > patience) | met)
        gone = np.maximum(self._settings.lost_seconds, patience)
        lost = ~there.goodbye & ~there.connected & ~recorded & (there.received > 0) & (silent > gone)
        yield self._claims(LOST, view, lost, silent)
        yield self._claims(GAP, view, gap, np.where(met, jumped, silent))

    def _jumps(self, view: View, there: Presence) -> Floats:
        """How far apart each host's two newest records are; remembers them, and since when we look."""
        since, received = self._kept["since"], self._kept["received"]
        if view.now - self._looked > _BLIND_SECONDS or view.now < self._looked:
            since[there.agent] = view.now
        since[np.isnan(since)] = view.now
        self._looked = view.now
        jumped = there.received - received
        self._kept["received"] = there.received
        return known_or(0.0, jumped)

    def _claims(self, kind: EventKind, view: View, enters: Flags, silent: Floats) -> Claims:
        what = "no connection and no record" if kind is LOST else "no record"
        return Claims(
            kind=kind,
            subjects=view.everyone,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.everyone), 0.99),
            because=lambda place: f"{what} for {silent[place]:.0f} s, and no goodbye",
            evidence={"silent_seconds": silent},
        )
