"""The conditions that the notifier knows: those of the timeline, and those about adjustments."""

from collections.abc import Sequence

from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.entry import Entry


class NotifiedConditions:
    """Conditions about adjustments are not in the timeline, which has notes about them instead."""

    def __init__(self, of_timeline: ActiveEntries) -> None:
        self._of_timeline = of_timeline
        self.of_adjustments = ActiveEntries()

    def all(self) -> Sequence[Entry]:
        """Return the newest entry of every active condition."""
        return (*self._of_timeline.all(), *self.of_adjustments.all())
