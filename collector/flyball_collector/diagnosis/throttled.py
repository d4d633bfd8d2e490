"""A detector that looks only every few seconds at a large fleet: what it watches changes slowly, or is a sum."""

from collections.abc import Iterable, Sequence

from flyball_collector.diagnosis.cadence import Cadence
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.view import View


class Throttled:
    """Asks another detector when it is its turn; meanwhile what it said stands."""

    def __init__(self, detector: Detector, seconds: int, phase: int = 0) -> None:
        """`phase`: detectors with unlike ones do not look in the same second."""
        self._detector = detector
        self._cadence = Cadence(seconds, phase)

    @property
    def name(self) -> str:
        """The other's."""
        return self._detector.name

    @property
    def kinds(self) -> Sequence[EventKind]:
        """The other's."""
        return self._detector.kinds

    @property
    def needs(self) -> Sequence[str]:
        """The other's."""
        return self._detector.needs

    def observe(self, view: View) -> Iterable[Claims]:
        """What the other sees, or nothing."""
        return self._detector.observe(view) if self._cadence.due(view) else ()
