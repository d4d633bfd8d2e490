"""Limits how often a condition may be raised and cleared: one that comes and goes stays raised instead."""

from typing import NamedTuple

from flyball_collector.diagnosis.subject import Subject

HOUR_SECONDS = 3600.0

REMEMBERED = 256
"""The most changes that are counted for one condition within an hour."""

_SWEEP_SECONDS = 600.0

ConditionKey = tuple[str, Subject]
"""The name of a kind, and a subject."""


class _Change(NamedTuple):
    time: float
    begins: bool


class ChangeBudget:
    """Counts how often each condition begins and ends within an hour, shown or not.

    Raising is never delayed. A condition may be cleared only if that, and raising it again at once, stays within the
    limit. So no more than `per_hour` changes are shown in any hour.
    """

    def __init__(self, per_hour: int) -> None:
        self._free = max(0, per_hour - 2)  # changes before one more end and one more beginning
        self._changes: dict[ConditionKey, list[_Change]] = {}
        self._swept = float("-inf")

    def add(self, key: ConditionKey, now: float, *, begins: bool) -> None:
        """Note that a condition has begun or ended."""
        changes = self._recent(key, now)
        changes.append(_Change(now, begins))
        self._changes[key] = changes[-REMEMBERED:]
        self._sweep(now)

    def clears_at(self, key: ConditionKey, now: float) -> float:
        """Return when a condition may be cleared if it does not come back: now, or later."""
        changes = self._recent(key, now)
        return now if len(changes) <= self._free else changes[len(changes) - 1 - self._free].time + HOUR_SECONDS

    def times_in_hour(self, key: ConditionKey, now: float) -> int:
        """Return how often a condition has begun within the last hour."""
        return sum(change.begins for change in self._recent(key, now))

    def _recent(self, key: ConditionKey, now: float) -> list[_Change]:
        return [change for change in self._changes.get(key, ()) if 0 <= now - change.time < HOUR_SECONDS]

    def _sweep(self, now: float) -> None:
        """Forget conditions without a recent change."""
        if not 0 <= now - self._swept < _SWEEP_SECONDS:
            self._swept = now
            recent = self._changes.items()
            self._changes = {key: changes for key, changes in recent if now - changes[-1].time < HOUR_SECONDS}
