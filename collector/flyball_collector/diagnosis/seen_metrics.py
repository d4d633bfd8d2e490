"""The metrics seen in the fleet so far. Detectors that need other metrics are not called."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from flyball_collector.fleet.host import HostState

ANY_GPU, ANY_STEP, ANY_AGENT, ANY_EVENT, ANY_UNAVAILABLE = (
    "any GPU", "any step", "any agent", "any event", "any unavailable reading",
)  # fmt: skip
"""Names for data that is not a metric. A recording has no agent, and often only one or none of the others."""


class SeenMetrics:
    """The names of all metrics that any host has had so far, and of `ANY_…`. Names are never removed."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __len__(self) -> int:
        return len(self._names)

    def any_of(self, names: Sequence[str]) -> bool:
        """Return True if one of these was seen, or if the list is empty."""
        return not names or any(name in self._names for name in names)

    def add(self, names: Iterable[str]) -> None:
        """Add names of metrics."""
        self._names.update(names)

    def update(self, states: Sequence[HostState], ranks: int) -> None:
        """Add the `ANY_…` names that apply. Each is checked until it was seen."""
        if ranks:
            self._names.add(ANY_STEP)
        for name, attribute in ((ANY_AGENT, "agent_version"), (ANY_EVENT, "events"), (ANY_UNAVAILABLE, "unavailable")):
            if name not in self._names and any(map(attrgetter(attribute), states)):
                self._names.add(name)
