"""The public form of an entry, for people and programs."""

import msgspec

from flyball_collector.timeline.entry import Entry
from flyball_collector.times import moment


class EntryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the timeline. Null means unknown or not applicable."""

    id: str
    time: str  # RFC 3339
    time_unix: float
    host: str | None
    gpu: str | None
    gpu_index: int | None  # the GPU's number on its host at that time, for people; `gpu` identifies it
    run: str | None
    rank: int | None
    resource: str | None
    kind: str
    state: str  # raised, changed, cleared; noted: happened on a host
    severity: str  # info, warning or critical
    confidence: float | None
    seconds_left: float | None
    seconds_left_low: float | None
    seconds_left_high: float | None
    level: float | None
    because: str
    evidence: dict[str, float]
    condition: str | None  # shared by all entries of one condition
    raised: str | None
    clears_in_seconds: float | None = None  # below its exit level: it is cleared then, unless it comes back
    times_in_hour: int = 0  # it comes and goes, so often in the last hour; 0: it does not


def entry_answer(entry: Entry) -> EntryAnswer:
    """Return the public form of an entry."""
    when = moment(entry.time_ns)
    return EntryAnswer(
        id=entry.id,
        time=when.rfc3339,
        time_unix=when.unix,
        host=entry.host or None,
        gpu=entry.gpu or None,
        gpu_index=entry.gpu_index,
        run=entry.run or None,
        rank=entry.rank,
        resource=entry.resource or None,
        kind=entry.kind,
        state=entry.state,
        severity=entry.severity,
        confidence=_rounded(entry.confidence),
        seconds_left=_rounded(entry.seconds_left, 1),
        seconds_left_low=_rounded(entry.seconds_left_low, 1),
        seconds_left_high=_rounded(entry.seconds_left_high, 1),
        level=_rounded(entry.level),
        because=entry.because,
        evidence=dict(entry.evidence),
        condition=entry.condition or None,
        raised=moment(entry.raised_ns).rfc3339 if entry.raised_ns else None,
        clears_in_seconds=_rounded(entry.clears_in_seconds, 1),
        times_in_hour=entry.times_in_hour,
    )


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
