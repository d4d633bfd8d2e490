"""An entry of the timeline: an event of diagnosis, or a note of what happened on a host; and its form as JSON."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject

NOTED: Final = "noted"
"""The state of a note: it has happened, and neither stands nor ends."""

NOTE_KINDS: Mapping[str, str] = {
    "host_event": "An agent told of something: an XID, a lost GPU, a full disk.",
    "host_connected": "A host that was new, or away, has connected.",
    "host_disconnected": "A host's stream ended, in order or not, and it did not come back at once.",
    "events_left_out": "More happened on a host than is told one by one.",
}

STATES = (*(state.value for state in State), NOTED)
SEVERITIES = tuple(severity.word for severity in Severity)

_RANKS = {state: rank for rank, state in enumerate(STATES)}
_LONGEST_TEXT = 2000


class EntryError(Exception):
    """Stored bytes are no entry; the message says which, and why."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry. What does not apply is empty, what is unknown is `None`."""

    id: str  # sorts by time; the same however often it is made
    time_ns: int
    state: str
    kind: str
    condition: str = ""  # which all entries of one condition share
    host: str = ""
    gpu: str = ""
    gpu_index: int | None = None  # at its time; entries of before it was kept have none
    run: str = ""
    rank: int | None = None
    resource: str = ""
    severity: str = "info"
    confidence: float | None = None
    seconds_left: float | None = None
    seconds_left_low: float | None = None
    seconds_left_high: float | None = None
    level: float | None = None
    because: str = ""
    evidence: dict[str, float] = {}
    raised_ns: int = 0

    @property
    def stands(self) -> bool:
        """Whether its condition stood after it."""
        return self.state in {State.RAISED, State.CHANGED}

    @property
    def badness(self) -> Severity:
        """Its severity, which compares."""
        return Severity[self.severity.upper()] if self.severity in SEVERITIES else Severity.INFO

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return Subject(self.host, self.gpu, self.run, self.rank, self.resource)

    def words(self) -> str:
        """Whom it is about, for people."""
        return self.subject.words(self.gpu_index)


def entry_id(time_ns: int, state: str, rest: str) -> str:
    """Ids sort by time; at one time what is raised stands before what is cleared."""
    return f"{max(0, time_ns):016x}-{_RANKS[state]}-{rest}"


def time_bound(time_ns: int) -> str:
    """No entry of this time or later has a smaller id, and no earlier one a larger."""
    return f"{max(0, time_ns):016x}"


def entry_of(event: Event) -> Entry:
    """An event of diagnosis as an entry."""
    subject = event.subject
    return Entry(
        id=entry_id(event.time_ns, event.state, event.condition),
        time_ns=event.time_ns,
        state=event.state.value,
        kind=event.kind.name,
        condition=event.condition,
        host=subject.host,
        gpu=subject.gpu,
        gpu_index=event.gpu_index,
        run=subject.run,
        rank=subject.rank,
        resource=subject.resource,
        severity=event.severity.word,
        confidence=_finite(event.confidence),
        seconds_left=_finite(event.seconds_left),
        seconds_left_low=_finite(event.seconds_left_low),
        seconds_left_high=_finite(event.seconds_left_high),
        level=_finite(event.level),
        because=event.because[:_LONGEST_TEXT],
        evidence={name: float(value) for name, value in event.evidence.items() if math.isfinite(value)},
        raised_ns=event.raised_ns,
    )


def event_of(entry: Entry) -> Event | None:
    """The event that an entry was made of; `None` for notes, and for kinds that this version does not know."""
    kind = BY_NAME.get(entry.kind)
    if kind is None or entry.state == NOTED:
        return None
    return Event(
        condition=entry.condition,
        time_ns=entry.time_ns,
        state=State(entry.state),
        kind=kind,
        subject=entry.subject,
        gpu_index=entry.gpu_index,
        severity=entry.badness,
        confidence=entry.confidence if entry.confidence is not None else 0.0,
        seconds_left=entry.seconds_left,
        seconds_left_low=entry.seconds_left_low,
        seconds_left_high=entry.seconds_left_high,
        level=entry.level,
        because=entry.because,
        evidence=entry.evidence,
        raised_ns=entry.raised_ns,
    )


def encode(entry: Entry) -> bytes:
    """As it is stored."""
    return msgspec.json.encode(entry)


_decoder = msgspec.json.Decoder(Entry)


def decode(body: bytes) -> Entry:
    """What was stored; fields that a later version added are left out."""
    try:
        entry = _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise EntryError(f"not an entry of the timeline: {error}") from None
    if entry.state not in STATES:
        raise EntryError(f"entry {entry.id!r} has the unknown state {entry.state!r}")
    return entry


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
