"""Events with plausible defaults for tests."""

from dataclasses import replace
from typing import Any

from flyball_collector.diagnosis.conditions import condition_id
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject

SECOND_NS = 10**9
NOW_NS = 1_900_000_000 * SECOND_NS


def make_event(
    kind: str = "memory_exhaustion",
    host: str = "node-1",
    *,
    at: float = 0.0,
    subject: Subject | None = None,
    **known: Any,
) -> Event:
    """Return a condition that is raised `at` seconds after `NOW_NS`."""
    time_ns = NOW_NS + int(at * SECOND_NS)
    about = subject or Subject(host, gpu="GPU-1")
    event = Event(
        condition=condition_id(BY_NAME[kind], about, time_ns),
        time_ns=time_ns,
        state=State.RAISED,
        kind=BY_NAME[kind],
        subject=about,
        severity=BY_NAME[kind].severity,
        confidence=0.8,
        because="used 93 %, 12 MiB more each second",
        evidence={"used_ratio": 0.93},
        raised_ns=time_ns,
    )
    return replace(event, **known)


def cleared(event: Event, *, after: float = 60.0) -> Event:
    """Return the event that clears a condition."""
    return replace(
        event, time_ns=event.time_ns + int(after * SECOND_NS), state=State.CLEARED, seconds_left=None, because="over"
    )


def changed(event: Event, *, after: float = 30.0, **known: Any) -> Event:
    """Return a later event of the same condition with other values."""
    return replace(event, time_ns=event.time_ns + int(after * SECOND_NS), state=State.CHANGED, **known)
