"""Detects InfiniBand ports that are down or go down repeatedly."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind, Severity
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["infiniband_flap"]

_DOWN, _ACTIVE = 1, 4
_DOWN_SECONDS = 25.0  # shorter interruptions are link training (the rule of leptonai/gpud)


class InfinibandDetector:
    """Counts link downs over hours.

    After a restart of the collector, a condition stays active until it has watched for as long again. A port that was
    never up is not in use.
    """

    name = "infiniband"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("infiniband_link_downs_total",)

    def __init__(self, settings: HealthSettings) -> None:
        self._most = settings.infiniband_flaps
        self._seconds = settings.infiniband_flap_seconds
        self._downs = Growth(self._seconds, 48)
        self._kept = SubjectArrays(was_active=False, down_since=float("nan"))

    def observe(self, view: View) -> Iterable[Claims]:
        """Report ports with many downs, and ports that are down now."""
        ports = view.resources("infiniband_link_downs_total")
        counts = view.resource_count("infiniband_link_downs_total")
        downs = self._downs.add(ports, counts, view.now)
        self._kept.align(ports)
        state = np.full(len(ports), np.nan)
        ours, theirs = ports.shared_with(view.resources("infiniband_state"))
        state[ours] = view.resource("infiniband_state")[theirs]
        since = self._kept["down_since"]
        self._kept["was_active"] |= state == _ACTIVE
        since[state != _DOWN] = np.nan
        since[(state == _DOWN) & np.isnan(since)] = view.now
        is_down = self._kept["was_active"] & (view.now - since >= _DOWN_SECONDS)
        enters = (downs >= self._most) | is_down
        watched = self._downs.watched(view.now) >= self._seconds

        def words(place: int) -> str:
            hours = self._seconds / 3600
            now = "the port is down; " if is_down[place] else ""
            return f"{now}{downs[place]:.0f} link downs in {hours:.0f} h; drain the node, check cable and transceiver"

        yield Claims(
            kind=KIND,
            subjects=ports,
            enters=enters,
            stays=enters,
            confidence=np.full(len(ports), 0.9),
            known=enters | watched,
            severity=np.where(is_down, Severity.CRITICAL, Severity.WARNING).astype(np.int8),
            because=words,
            evidence={"link_downs": downs},
        )
