"""Detects hosts that send no records although their agents did not shut down."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims, Flags, Floats
from flyball_collector.diagnosis.health.host_reports import HostReports, Presence
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

GAP = BY_NAME["data_gap"]
LOST = BY_NAME["host_lost"]

_INTERVALS = 5  # a host with a long interval gets more time
_BLIND_SECONDS = 10.0  # after such a pause of the collector itself, hosts are not blamed for missing records


class PresenceDetector:
    """Measures for how long hosts have sent no records.

    The time counts from the newest record, the goodbye, or the collector's (re)start of watching, whichever is latest.
    A recording has no connection to lose, only gaps. A gap in a recording is reported when the recording continues.
    """

    name = "presence"
    kinds: Sequence[EventKind] = (GAP, LOST)
    needs: Sequence[str] = ()

    def __init__(self, settings: HealthSettings, reports: HostReports) -> None:
        self._settings = settings
        self._reports = reports
        self._kept = SubjectArrays(since=float("nan"), received=float("nan"))
        self._updated = float("-inf")

    def observe(self, view: View) -> Iterable[Claims]:
        """Report hosts without records, with or without a connection."""
        presence = self._reports.presence(view)
        self._kept.align(view.everyone)
        recorded = ~presence.agent
        jumped = self._jumps(view, presence)
        self._kept["since"][presence.goodbye] = view.now  # an agent's hello clears it before its first record
        missing = view.now - np.fmax(presence.received, self._kept["since"])
        patience = np.maximum(self._settings.gap_seconds, _INTERVALS * presence.interval)
        in_recording = recorded & (jumped > patience)
        expected = ~presence.goodbye & (presence.received > 0)
        gap = expected & ((missing > patience) | in_recording)
        gone = np.maximum(self._settings.lost_seconds, patience)
        lost = expected & ~presence.connected & ~recorded & (missing > gone)
        yield self._claims(LOST, view, lost, missing)
        yield self._claims(GAP, view, gap, np.where(in_recording, jumped, missing))

    def _jumps(self, view: View, presence: Presence) -> Floats:
        """Return the time between each host's two newest records."""
        since, received = self._kept["since"], self._kept["received"]
        if view.now - self._updated > _BLIND_SECONDS or view.now < self._updated:
            since[presence.agent] = view.now
        since[np.isnan(since)] = view.now
        self._updated = view.now
        jumped = presence.received - received
        self._kept["received"] = presence.received
        return known_or(0.0, jumped)

    def _claims(self, kind: EventKind, view: View, enters: Flags, missing: Floats) -> Claims:
        text = "no connection and no record" if kind is LOST else "no record"
        return Claims(
            kind=kind,
            subjects=view.everyone,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.everyone), 0.99),
            because=lambda place: f"{text} for {missing[place]:.0f} s; the agent did not shut down",
            evidence={"not_reporting_seconds": missing},
        )
