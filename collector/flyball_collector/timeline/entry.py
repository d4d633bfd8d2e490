"""An entry of the timeline: an event of the diagnosis or a note about a host, and its JSON form."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject

NOTED: Final = "noted"
"""The state of a note: it has happened, and is never active or cleared."""

NOTE_KINDS: Mapping[str, str] = {
    "host_event": "An agent reported an event: an XID, a lost GPU, a full disk.",
    "host_connected": "A new host has connected, or one has reconnected after a break.",
    "host_disconnected": "A host's stream ended, and the host did not reconnect at once.",
    "capture_ordered": "An operator has ordered a capture of some ranks of a run.",
    "adjustment_proposed": "A change of a run waits for a person.",
    "adjustment_offered": "A change was offered to the ranks of a run.",
    "adjustment_applied": "All ranks of a run have made a change. Its effect is being measured.",
    "adjustment_kept": "A change of a run was measured and kept.",
    "adjustment_rolled_back": "A change of a run was taken back, because it did harm or because a person asked for it.",
    "adjustment_refused": "A change of a run was not made: vetoed, aborted, expired or withdrawn.",
    "adjustment_failed": "The ranks of a run did not make a change alike.",
    "adjustment_decided": "A person has approved, vetoed, undone or asked for a change, or set the policy of a run.",
    "out_of_memory": "A rank ran out of memory and could not repeat the step.",
    "out_of_memory_recovered": "A rank ran out of memory, repeated the step in smaller parts, and goes on.",
    "events_left_out": "More events happened on a host than are listed one by one.",
}

STATES = (*(state.value for state in State), NOTED)
SEVERITIES = tuple(severity.word for severity in Severity)

_RANKS = {state: rank for rank, state in enumerate(STATES)}
_LONGEST_TEXT = 2000


class EntryError(Exception):
    """Stored bytes are not a valid entry. The message names the entry and the fault."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry. Fields that do not apply are empty; unknown ones are `None`."""

    id: str  # sorts by time; deterministic
    time_ns: int
    state: str
    kind: str
    condition: str = ""  # shared by all entries of one condition
    host: str = ""
    gpu: str = ""
    gpu_index: int | None = None  # at the time of the entry; `None` in entries of older versions
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
    clears_in_seconds: float | None = None  # of a live value only
    times_in_hour: int = 0

    @property
    def is_active(self) -> bool:
        """Return True if the condition was active after this entry."""
        return self.state in {State.RAISED, State.CHANGED}

    @property
    def severity_level(self) -> Severity:
        """Return the severity as a comparable value."""
        return Severity[self.severity.upper()] if self.severity in SEVERITIES else Severity.INFO

    @property
    def subject(self) -> Subject:
        """Return the subject of the entry."""
        return Subject(self.host, self.gpu, self.run, self.rank, self.resource)

    def subject_text(self) -> str:
        """Return the subject in words."""
        return self.subject.words(self.gpu_index)


def entry_id(time_ns: int, state: str, rest: str) -> str:
    """Return an id that sorts by time, and at one time by state: raised before cleared."""
    return f"{max(0, time_ns):016x}-{_RANKS[state]}-{rest}"


def time_bound(time_ns: int) -> str:
    """Return a bound for ids: no entry of this time or later has a smaller id, and no earlier one a larger."""
    return f"{max(0, time_ns):016x}"


def entry_of(event: Event) -> Entry:
    """Return an event of the diagnosis as an entry."""
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
        clears_in_seconds=_finite(event.clears_in_seconds),
        times_in_hour=event.times_in_hour,
    )


def event_of(entry: Entry) -> Event | None:
    """Return the event of an entry, or `None` for notes and unknown kinds."""
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
        severity=entry.severity_level,
        confidence=entry.confidence if entry.confidence is not None else 0.0,
        seconds_left=entry.seconds_left,
        seconds_left_low=entry.seconds_left_low,
        seconds_left_high=entry.seconds_left_high,
        level=entry.level,
        because=entry.because,
        evidence=entry.evidence,
        raised_ns=entry.raised_ns,
        times_in_hour=entry.times_in_hour,
    )


def encode(entry: Entry) -> bytes:
    """Return the stored form of an entry."""
    return msgspec.json.encode(entry)


_decoder = msgspec.json.Decoder(Entry)


def decode(body: bytes) -> Entry:
    """Parse a stored entry. Fields of later versions are ignored."""
    try:
        entry = _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise EntryError(f"not a valid timeline entry: {error}") from None
    if entry.state not in STATES:
        raise EntryError(f"entry {entry.id!r} has the unknown state {entry.state!r}")
    return entry


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
