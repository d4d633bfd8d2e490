"""The values of an active condition at the moment of reading: every view takes them from here."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import structlog

from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Group

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionMoment:
    """The facts about a condition beside its latest claims."""

    claims_age: float  # seconds since the claims
    event_age: float  # seconds since the last event
    clears_in: float | None = None  # seconds, if it is below its exit level
    times_in_hour: int = 0  # 0: it does not come and go


def current_event(event: Event, claims: Claims | None, moment: ConditionMoment) -> Event:
    """Return an active condition with its present values: severity and time stay those of its last event."""
    event = replace(event, clears_in_seconds=moment.clears_in, times_in_hour=moment.times_in_hour)
    place = claims.subjects.places.get(event.subject) if claims is not None else None
    if claims is None or place is None or (claims.known is not None and not claims.known[place]):
        return _last_known(event, moment)
    return _claimed(event, claims, place, moment)


def _claimed(event: Event, claims: Claims, place: int, moment: ConditionMoment) -> Event:
    """Return the event with the values of the latest claims."""
    present = bool(claims.enters[place] or claims.stays[place])
    measured = present or event.kind.group is Group.BOTTLENECK
    left, low, high = (
        _elapsed(at(values, place), moment.claims_age) if present else None
        for values in (claims.seconds_left, claims.seconds_left_low, claims.seconds_left_high)
    )
    words = _words(claims, place)
    below = "" if present else f"{_below(event)}: "
    return replace(
        event,
        confidence=float(claims.confidence[place]) if measured else event.confidence,
        seconds_left=left,
        seconds_left_low=low,
        seconds_left_high=high,
        level=at(claims.level, place),
        because=with_recurrence(below + words, moment.times_in_hour) if words else event.because,
        evidence=numbers_of(claims, place),
    )


def _words(claims: Claims, place: int) -> str:
    """Return the present reason, or nothing if the detector fails to word it."""
    try:
        return claims.because(place)
    except Exception as error:  # noqa: BLE001  a detector is isolated here, too: the last reason is shown instead
        _report_failure(claims.kind.name, repr(error))
        return ""


@lru_cache(maxsize=256)
def _report_failure(kind: str, error: str) -> None:
    """Log a failure once: a view may ask for the reason many times a second."""
    _log.error("reason_failed", kind=kind, error=error)


def _last_known(event: Event, moment: ConditionMoment) -> Event:
    """Return the last known values. A forecast counts down; when its time has passed, nothing is known."""
    left, low, high = (
        None if seconds is None or seconds < moment.event_age else seconds - moment.event_age
        for seconds in (event.seconds_left, event.seconds_left_low, event.seconds_left_high)
    )
    if event.seconds_left == 0:  # it had come true
        left = low = high = 0.0
    return replace(event, seconds_left=left, seconds_left_low=low, seconds_left_high=high)


def _elapsed(seconds: float | None, passed: float) -> float | None:
    return None if seconds is None else max(0.0, seconds - passed)


def _below(event: Event) -> str:
    """Return the word for a condition below its exit level."""
    return "held" if event.kind.group is Group.RISK else "fading"


def with_recurrence(words: str, times_in_hour: int) -> str:
    """Begin a reason with how often the condition came, if it comes and goes."""
    if not times_in_hour:
        return words
    often = "once" if times_in_hour == 1 else f"{times_in_hour} times"
    return f"comes and goes, {often} in the last hour: {words}"


def numbers_of(claims: Claims, place: int) -> Mapping[str, float]:
    """Return the known numbers behind a claim."""
    return {name: value for name, values in claims.evidence.items() if (value := at(values, place)) is not None}
