"""The current advice by place. A piece of advice stays as it is until it changes materially."""

from collections.abc import Iterable
from operator import itemgetter

from flyball_collector.advice.advice import Advice, Gain
from flyball_collector.advice.ranking import Rank, rank
from flyball_collector.diagnosis.subject import Subject

_CHANGED = 0.25  # of a number, before the advice is replaced
_CONFIDENCE_CHANGED = 0.2

_Key = tuple[str, Subject]
_Entry = tuple[Rank, Advice]


class AdviceList:
    """`current` stays the same object until the advice changes."""

    def __init__(self) -> None:
        self.current: tuple[Advice, ...] = ()  # most urgent first
        self._places: dict[str, dict[_Key, _Entry]] = {}
        self._sorted: list[_Entry] = []
        self._new: list[_Entry] = []
        self._gone: set[int] = set()  # entries of `_sorted` to remove, by identity

    def places(self) -> set[str]:
        """Return the places with advice."""
        return set(self._places)

    def put(self, place: str, found: Iterable[Advice]) -> None:
        """Replace the advice of a place. The change becomes visible with the next `sort`."""
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
        """Update `current`. The list stays mostly sorted, so few entries are moved."""
        if self._new or self._gone:
            kept = [entry for entry in [*self._sorted, *self._new] if id(entry) not in self._gone]
            kept.sort(key=itemgetter(0))
            self._sorted, self._new, self._gone = kept, [], set()
            self.current = tuple(one for _, one in kept)


def materially_other(old: Advice, new: Advice) -> bool:
    """Return True if safety, severity or GPU number differ, or if numbers differ by a quarter."""
    if (old.safety, old.severity, old.gpu_index) != (new.safety, new.severity, new.gpu_index):
        return True
    if old.proposed.keys() != new.proposed.keys() or abs(old.confidence - new.confidence) >= _CONFIDENCE_CHANGED:
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
