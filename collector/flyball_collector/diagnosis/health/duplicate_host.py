"""Detects two machines that report under the same name."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["duplicate_host"]


class DuplicateDetector:
    """Reports hosts whose records alternate between two boot ids, as noted at ingest."""

    name = "duplicate"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT,)

    def observe(self, view: View) -> Iterable[Claims]:
        """Report the flagged hosts."""
        enters = np.array([state.duplicate for state in view.states], dtype=bool)
        yield Claims(
            kind=KIND,
            subjects=view.hosts,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.hosts), 0.95),
            because=lambda _: "records of two boots alternate; set `host` in the settings of one agent",
        )
