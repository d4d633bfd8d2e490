"""Detects wrong host clocks. Windows and rates do not depend on them; logs, certificates and schedulers do."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.number_format import duration
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["clock_skew"]

_EXIT = 0.8  # of the entry level


class ClockDetector:
    """Compares host clocks with the collector's. If the collector's clock is wrong, all hosts seem to be off."""

    name = "clock"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT,)

    def __init__(self, settings: HealthSettings) -> None:
        self._most = settings.skew_seconds

    def observe(self, view: View) -> Iterable[Claims]:
        """Report hosts whose skew, as measured over round trips, is too large."""
        known = [state.clock_skew_seconds for state in view.states]
        skew = np.array([np.nan if seconds is None else seconds for seconds in known], dtype=np.float64)
        wrong = np.abs(skew)
        enters = wrong >= self._most
        others = int((wrong >= self._most).sum())

        def words(place: int) -> str:
            direction = "ahead" if skew[place] > 0 else "behind"
            most = "; so are most hosts: check the collector's clock" if 2 * others > len(wrong) > 2 else ""
            error = f"{_format_error(wrong[place])} {direction} of the collector's"
            return f"the clock is {error}{most}; check NTP on this host"

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


def _format_error(seconds: float) -> str:
    """Format the error of a clock, with fractions of a second only below a minute."""
    return f"{seconds:.3g} s" if seconds < 60 else duration(seconds)
