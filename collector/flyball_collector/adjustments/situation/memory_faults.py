"""The times that ranks ran out of memory, by run. Each is reported twice: by the agent's stream and with a record."""

from collections import deque
from collections.abc import Collection, Sequence

from flyball_collector.adjustments.situation.run_situation import MemoryFault

MAX_FAULTS = 64
"""Of each run, the newest."""

SAME_SECONDS = 60.0
"""The two reports of one fault come within this time. Two faults of a rank with the same values in it count as one."""

_SECOND = 10**9


class MemoryFaults:
    """Faults of the present attempt of each run."""

    def __init__(self) -> None:
        self._faults: dict[str, deque[MemoryFault]] = {}

    def of(self, run: str) -> Sequence[MemoryFault]:
        """Return the faults of a run, the oldest first."""
        return tuple(self._faults.get(run, ()))

    def add(self, run: str, fault: MemoryFault) -> bool:
        """Add a fault. Return False if it is known already."""
        faults = self._faults.setdefault(run, deque(maxlen=MAX_FAULTS))
        if any(_is_same(fault, each) for each in faults):
            return False
        faults.append(fault)
        return True

    def forget(self, run: str) -> None:
        """Forget the faults of an attempt that is over."""
        self._faults.pop(run, None)

    def keep_only(self, runs: Collection[str]) -> None:
        """Forget the faults of all other runs."""
        self._faults = {run: faults for run, faults in self._faults.items() if run in runs}


def _is_same(one: MemoryFault, other: MemoryFault) -> bool:
    fields = ("rank", "where", "name", "value_from", "value_to", "recovered")
    near = abs(one.time_ns - other.time_ns) < SAME_SECONDS * _SECOND
    return near and all(getattr(one, field) == getattr(other, field) for field in fields)
