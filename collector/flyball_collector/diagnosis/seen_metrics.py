"""What has ever been met in a fleet: who lives on something that nobody has yet need not be asked."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from flyball_collector.fleet.host import HostState

ANY_GPU, ANY_STEP, ANY_AGENT, ANY_EVENT, ANY_UNAVAILABLE = (
    "any GPU", "any step", "any agent", "any event", "any unavailable reading",
)  # fmt: skip
"""Stand among the metrics for what is no metric; a recording has no agent, and often no more than one of the others."""


class SeenMetrics:
    """Names of metrics that any host has had so far, and of `ANY_…`; nothing is ever forgotten."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __len__(self) -> int:
        return len(self._names)

    def any_of(self, names: Sequence[str]) -> bool:
        """Whether one of these was met; also true where none is asked for."""
        return not names or any(name in self._names for name in names)

    def meet(self, names: Iterable[str]) -> None:
        """From now on these are known."""
        self._names.update(names)

    def look(self, states: Sequence[HostState], ranks: int) -> None:
        """What hosts tell beside their readings; each is looked for until it is met."""
        if ranks:
            self._names.add(ANY_STEP)
        for name, attribute in ((ANY_AGENT, "agent_version"), (ANY_EVENT, "events"), (ANY_UNAVAILABLE, "unavailable")):
            if name not in self._names and any(map(attrgetter(attribute), states)):
                self._names.add(name)
