"""Remembers the newest forecast of each risk, so that one that came and went between two scrapes is still exported."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import Group
from flyball_collector.diagnosis.subject import Subject

HOLD_SECONDS = 60.0
"""A forecast is exported for at least this long: four scrapes at the usual interval of 15 s, of which one may fail."""

LEAST_SECONDS = 1.0
"""A forecast is not counted down below this: only one that has come true is 0."""

MAX_HELD = 4096
"""Maximum risks that are remembered, because names of resources come from hosts."""

_SECOND = 1e9
_FULL, _KILL = "memory_exhaustion", "oom_kill"

Key = tuple[str, Subject]


class Forecast(NamedTuple):
    """Seconds left, counted from `at`; `None` is unknown."""

    event: Event
    at: float  # Unix time
    left: float
    low: float | None
    high: float | None

    def counted_down(self, now: float) -> "Forecast":
        """Return the forecast with the seconds that are left now."""

        def rest(seconds: float | None) -> float | None:
            return None if seconds is None else min(seconds, max(LEAST_SECONDS, seconds - (now - self.at)))

        return self._replace(left=rest(self.left) or 0.0, low=rest(self.low), high=rest(self.high))


@dataclass(slots=True)
class _Held:
    forecast: Forecast
    until: float
    active: bool = True


class RecentRisks:
    """Takes the events of the diagnosis. The time is that of the events and of the caller."""

    def __init__(self) -> None:
        self._held: dict[Key, _Held] = {}

    def on_events(self, events: Iterable[Event]) -> None:
        """Take the events of a second: forecasts, their ends, and kills, with which a forecast has come true."""
        for event in events:
            now = event.time_ns / _SECOND
            if event.kind.name == _KILL and event.state is not State.CLEARED:
                self._comes_true(event, now)
            elif event.kind.group is Group.RISK:
                self._take(event, now)

    def of(self, kind: str, subject: Subject, now: float) -> Forecast | None:
        """Return the newest forecast of a risk, counted down, while it is held; otherwise `None`."""
        held = self._held.get((kind, subject))
        return held.forecast.counted_down(now) if held is not None and now <= held.until else None

    def ended(self, now: float, is_wanted: Callable[[Subject], bool] = lambda _: True) -> Sequence[Forecast]:
        """Return the forecasts that are held although their conditions have been cleared."""
        self._forget(now)
        return [
            held.forecast.counted_down(now)
            for (_, subject), held in self._held.items()
            if not held.active and is_wanted(subject)
        ]

    def _take(self, event: Event, now: float) -> None:
        key = (event.kind.name, event.subject)
        held = self._held.get(key)
        if event.state is State.CLEARED:
            if held is not None:
                held.active = False
        elif event.seconds_left is not None:
            low, high = event.seconds_left_low, event.seconds_left_high
            forecast = Forecast(event, now, event.seconds_left, low, high)
            until = now + HOLD_SECONDS if event.state is State.RAISED or held is None else held.until
            self._held[key] = _Held(forecast, until)
            if len(self._held) > MAX_HELD:
                self._forget(now)
            while len(self._held) > MAX_HELD:
                del self._held[next(iter(self._held))]

    def _comes_true(self, kill: Event, now: float) -> None:
        """Set the forecast that a kill ends to 0: of all memory of the host, that which would be full first."""
        of_host = [
            held
            for (kind, subject), held in self._held.items()
            if kind == _FULL and subject.host == kill.subject.host and not subject.gpu
            if held.active or now <= held.until
        ]
        if of_host:
            first = min(of_host, key=lambda held: held.forecast.counted_down(now).left)
            first.forecast = first.forecast._replace(at=now, left=0.0, low=0.0, high=0.0)
            first.until = now + HOLD_SECONDS

    def _forget(self, now: float) -> None:
        self._held = {key: held for key, held in self._held.items() if held.active or now <= held.until}
