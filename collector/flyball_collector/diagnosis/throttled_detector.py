"""A detector that runs only every few seconds on a large fleet, because its input changes slowly or is a sum."""

from collections.abc import Iterable, Sequence

from flyball_collector.diagnosis.cadence import Cadence
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.view import View


class ThrottledDetector:
    """Runs another detector in its period. In between, its conditions stay as they are."""

    def __init__(self, detector: Detector, seconds: int, phase: int = 0) -> None:
        """Set the period. Detectors with different phases run in different seconds."""
        self._detector = detector
        self._cadence = Cadence(seconds, phase)

    @property
    def name(self) -> str:
        """The name of the other detector."""
        return self._detector.name

    @property
    def kinds(self) -> Sequence[EventKind]:
        """The kinds of the other detector."""
        return self._detector.kinds

    @property
    def needs(self) -> Sequence[str]:
        """The needs of the other detector."""
        return self._detector.needs

    def observe(self, view: View) -> Iterable[Claims]:
        """Return the claims of the other detector, or nothing outside its period."""
        return self._detector.observe(view) if self._cadence.due(view) else ()
