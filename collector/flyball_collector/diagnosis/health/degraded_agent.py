"""Detects agents that cannot write their spool, or lose records."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["agent_degraded"]

_SECONDS = 300.0


class DegradedDetector:
    """Evaluates the metrics of agents about themselves. The training is not affected, but records may be lost."""

    name = "degraded"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("agent_spool_degraded", "agent_records_lost_total", "agent_records_refused_total")

    def __init__(self) -> None:
        self._lost, self._refused = Growth(_SECONDS), Growth(_SECONDS)

    def observe(self, view: View) -> Iterable[Claims]:
        """Report a degraded spool, and records lost or refused in five minutes."""
        degraded = view.host("agent_spool_degraded")
        lost = self._lost.add(view.hosts, view.host_count("agent_records_lost_total"), view.now)
        refused = self._refused.add(view.hosts, view.host_count("agent_records_refused_total"), view.now)
        enters = (degraded > 0) | (lost > 0) | (refused > 0)

        def words(place: int) -> str:
            spool = "the spool's disk fails or hangs, records are kept in memory; " if degraded[place] > 0 else ""
            return f"{spool}{lost[place]:.0f} records lost and {refused[place]:.0f} refused in 5 minutes"

        yield Claims(
            kind=KIND,
            subjects=view.hosts,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.hosts), 0.99),
            known=enters | view.alive,
            because=words,
            evidence={"spool_degraded": degraded, "records_lost": lost, "records_refused": refused},
        )
