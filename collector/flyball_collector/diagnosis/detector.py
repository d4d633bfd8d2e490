"""What every detector is: it looks at one second of the fleet and says what it sees."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.view import View


class Detector(Protocol):
    """Says of each of its kinds, over all subjects at once, whether the condition is there."""

    @property
    def name(self) -> str:
        """For people: logs and metrics."""

    @property
    def kinds(self) -> Sequence[EventKind]:
        """What it can say."""

    @property
    def needs(self) -> Sequence[str]:
        """Metrics (or `ANY_…`, see `SeenMetrics`) without all of which it can neither say nor learn anything, so that it is not
        asked before one of them was met; none: it is asked from the start."""

    def observe(self, view: View) -> Iterable[Claims]:
        """Claims of this second; a kind that is left out stays as it was. No clock, no I/O."""
