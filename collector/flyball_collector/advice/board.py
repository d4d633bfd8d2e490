"""What is advised now, place by place; what was said stays as it is until it changes materially."""

from collections.abc import Iterable
from operator import itemgetter

from flyball_collector.advice.advice import Advice, Gain
from flyball_collector.advice.ranking import Rank, rank
from flyball_collector.diagnosis.subject import Subject

_CHANGED = 0.25  # of a number, before it is said again
_SURER = 0.2

_Key = tuple[str, Subject]
_Entry = tuple[Rank, Advice]


class Board:
    """`given` is one object as long as nothing else is said."""

    def __init__(self) -> None:
        self.given: tuple[Advice, ...] = ()  # the most urgent first
        self._places: dict[str, dict[_Key, _Entry]] = {}
        self._sorted: list[_Entry] = []
        self._new: list[_Entry] = []
        self._gone: set[int] = set()  # which of the sorted ones, by identity

    def places(self) -> set[str]:
        """Where something is advised."""
        return set(self._places)

    def put(self, place: str, found: Iterable[Advice]) -> None:
        """All that is now to be said of a place; it shows when the board is sorted."""
        before = self._places.pop(place, {})
        after = {}
        for one in found:
            key = (one.rule, one.subject)
            old = before.get(key)
            after[key] = old if old is not None and not materially_other(old[1], one) else (rank(one), one)
        self._gone.update(id(old) for key, old in before.items() if after.get(key) is not old)
        self._new += [new for key, new in after.items() if before.get(key) is not new]
        if after:
            self._places[place] = after

    def sort(self) -> None:
        """Show what was put. What is sorted stays so: few are moved."""
        if self._new or self._gone:
            kept = [entry for entry in [*self._sorted, *self._new] if id(entry) not in self._gone]
            kept.sort(key=itemgetter(0))
            self._sorted, self._new, self._gone = kept, [], set()
            self.given = tuple(one for _, one in kept)


def materially_other(old: Advice, new: Advice) -> bool:
    """Whether to say it again: another safety, severity or GPU's index, or numbers that differ by a quarter."""
    if (old.safety, old.severity, old.gpu_index) != (new.safety, new.severity, new.gpu_index):
        return True
    if old.proposed.keys() != new.proposed.keys() or abs(old.confidence - new.confidence) >= _SURER:
        return True
    if not old.proposed and old.gain is None and new.gain is None and old.change != new.change:
        return True
    return _gains_differ(old.gain, new.gain) or any(_differ(old.proposed[k], new.proposed[k]) for k in old.proposed)


def _gains_differ(old: Gain | None, new: Gain | None) -> bool:
    if old is None or new is None:
        return old is not new
    return any(
        abs(before - after) > max(_CHANGED * (before - 1.0), 0.05)
        for before, after in ((old.lower, new.lower), (old.upper, new.upper))
    )


def _differ(old: float, new: float) -> bool:
    return abs(old - new) > _CHANGED * max(abs(old), 1e-9)
