"""The texts of active conditions, renewed rarely: Prometheus keeps one series for each text."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.exporter.diagnosis.snapshot import ConditionText

RENEW_SECONDS = 300.0
"""A condition has at most twelve texts an hour, so a day of 100 active conditions makes at most 28,800 series."""

MAX_TEXTS = 4096
"""Texts of a page. In a storm the worst conditions have theirs."""

MAX_CURRENT = 256
"""Texts that are made from present values in one call, some milliseconds. In a storm the others are as they were when
raised."""

LONGEST = 200
"""Characters of the evidence: as many as the exporter writes into a label."""


class _Kept(NamedTuple):
    text: ConditionText
    renewed: float


class ConditionTexts:
    """Keeps the text of each condition until its severity changes or five minutes have passed."""

    def __init__(self, current: Callable[[ActiveCondition], Event]) -> None:
        """Create a cache. `current` returns the present values of a condition."""
        self._current = current
        self._kept: dict[str, _Kept] = {}  # by condition
        self._room = 0

    def of(self, active: Iterable[ActiveCondition], now: float) -> list[ConditionText]:
        """Return the texts of warnings and critical conditions, the worst first."""
        worst = sorted(
            (each for each in active if each.event.severity > Severity.INFO), key=lambda each: -each.event.severity
        )
        if len(self._kept) > 2 * MAX_TEXTS:  # nobody asks for the whole fleet
            self._kept = dict(list(self._kept.items())[-MAX_TEXTS:])
        self._room = MAX_CURRENT
        return [self._text(each, now) for each in worst[:MAX_TEXTS]]

    def keep_only(self, active: Iterable[ActiveCondition]) -> None:
        """Forget the conditions that are not active any more."""
        known = {each.event.condition for each in active}
        self._kept = {condition: kept for condition, kept in self._kept.items() if condition in known}

    def _text(self, active: ActiveCondition, now: float) -> ConditionText:
        event = active.event
        kept = self._kept.get(event.condition)
        if kept is None or kept.text.severity is not event.severity or now - kept.renewed >= RENEW_SECONDS:
            self._room -= 1
            current = self._current(active) if self._room >= 0 else event
            because = current.because if len(current.because) <= LONGEST else f"{current.because[: LONGEST - 1]}…"
            sure = f"{100 * current.confidence:.0f} %"
            text = ConditionText(event.kind, event.severity, event.subject, event.gpu_index, because, sure)
            kept = self._kept[event.condition] = _Kept(text, now)
        return kept.text
