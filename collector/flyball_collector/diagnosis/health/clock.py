"""Hosts whose wall clock is wrong. Windows and rates do not depend on it; logs, certificates and schedulers do."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.figures import duration
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["clock_skew"]

_EXIT = 0.8  # of the entry level


class ClockDetector:
    """Against the collector's clock, which may be the one that is wrong: then every host is off."""

    name = "clock"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT,)

    def __init__(self, settings: HealthSettings) -> None:
        self._most = settings.skew_seconds

    def observe(self, view: View) -> Iterable[Claims]:
        """The skew that the ingest measures over round trips."""
        told = [state.clock_skew_seconds for state in view.states]
        skew = np.array([np.nan if seconds is None else seconds for seconds in told], dtype=np.float64)
        wrong = np.abs(skew)
        enters = wrong >= self._most
        others = int((wrong >= self._most).sum())

        def words(place: int) -> str:
            direction = "ahead" if skew[place] > 0 else "behind"
            everybody = "; so are most hosts: check the collector's own clock" if 2 * others > len(wrong) > 2 else ""
            return f"its clock is {_wrong_by(wrong[place])} {direction} of the collector's{everybody}; check its NTP"

        yield Claims(
            kind=KIND,
            subjects=view.hosts,
            enters=enters,
            stays=wrong >= _EXIT * self._most,
            confidence=np.full(len(view.hosts), 0.9),
            known=view.alive & ~np.isnan(skew),
            because=words,
            evidence={"skew_seconds": skew},
        )


def _wrong_by(seconds: float) -> str:
    """Parts of a second count below a minute only."""
    return f"{seconds:.3g} s" if seconds < 60 else duration(seconds)
