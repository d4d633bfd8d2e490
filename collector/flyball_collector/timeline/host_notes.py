"""Notes about hosts: events that their agents report, ranks without memory, and connections, without flooding.

A host that reconnects at once (its stream is renewed each hour) gets no note. A host that does so again and again gets
a few notes, and then a count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2s

from flyball_collector.fleet.adjustment_outcomes import AdjustmentOutcome
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_collector.timeline.entry import NOTED, Entry, entry_id

AWAY_SECONDS = 15.0
"""A host that reconnects within this time was not away."""

SETTLE_SECONDS = 60.0
"""After the collector's start, hosts reconnect one by one, which gives no notes."""

BURST = 16
REFILL_SECONDS = 60.0
"""Notes that one host may have at once; then one a minute, and the rest as a count."""

OLD_SECONDS = 600.0
"""Older events at the first sight of a host were already noted before the collector restarted."""

OUT_OF_MEMORY = "out_of_memory"
"""The outcome that becomes a note. Those of adjustments are noted by the governor, once for all ranks."""

_EARLIEST_SECONDS = 31 * 86400.0
_LATEST_SECONDS = 60.0
_SECOND = 10**9


@dataclass(slots=True)
class _Known:
    """The last known state of a host."""

    connected: bool
    events: tuple[HostEvent, ...]
    outcomes: tuple[AdjustmentOutcome, ...]
    gone_ns: int | None = None  # when its stream ended, until that is noted
    gone_noted: bool = False
    budget: float = float(BURST)
    refilled_ns: int = 0
    left_out: int = 0
    known: set[str] = field(default_factory=set)


class HostNotes:
    """Compares every host with its last known state once a second."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Known] = {}
        self._started_ns: int | None = None

    def update(self, states: Sequence[HostState], now_ns: int) -> list[Entry]:
        """Return new notes, oldest first."""
        if self._started_ns is None:
            self._started_ns = now_ns
        notes: list[Entry] = []
        for state in states:
            seen = self._hosts.get(state.name)
            if seen is None:
                notes += self._first_notes(state, now_ns)
            elif (
                state.connected is not seen.connected
                or state.events is not seen.events
                or state.outcomes is not seen.outcomes
                or seen.gone_ns is not None
                or seen.left_out
            ):
                notes += self._compare(state, seen, now_ns)
        if len(states) < len(self._hosts):
            names = {state.name for state in states}
            self._hosts = {name: seen for name, seen in self._hosts.items() if name in names}
        return sorted(notes, key=lambda note: note.id)

    def _first_notes(self, state: HostState, now_ns: int) -> Iterator[Entry]:
        seen = self._hosts[state.name] = _Known(state.connected, state.events, state.outcomes, refilled_ns=now_ns)
        notes = _reported(state, now_ns)
        seen.known = {note.id for note in notes}
        recent = [note for note in notes if now_ns - note.time_ns < OLD_SECONDS * _SECOND]
        if state.connected and now_ns - (self._started_ns or 0) > SETTLE_SECONDS * _SECOND:
            recent.append(_note(state.name, "host_connected", now_ns, _agent(state)))
        yield from self._within_budget(state.name, seen, recent, now_ns)

    def _compare(self, state: HostState, seen: _Known, now_ns: int) -> Iterator[Entry]:
        notes: list[Entry] = []
        if state.events is not seen.events or state.outcomes is not seen.outcomes:
            current = _reported(state, now_ns)
            notes += [note for note in current if note.id not in seen.known]
            seen.events, seen.outcomes, seen.known = state.events, state.outcomes, {note.id for note in current}
        if state.connected:
            if seen.gone_noted:
                notes.append(_note(state.name, "host_connected", now_ns, _agent(state)))
            seen.gone_ns, seen.gone_noted = None, False
        elif seen.connected:
            seen.gone_ns = now_ns
        if seen.gone_ns is not None and now_ns - seen.gone_ns >= AWAY_SECONDS * _SECOND:
            how = "its agent was shut down" if state.goodbye else "its stream ended without a goodbye"
            notes.append(_note(state.name, "host_disconnected", seen.gone_ns, how))
            seen.gone_ns, seen.gone_noted = None, True
        seen.connected = state.connected
        yield from self._within_budget(state.name, seen, notes, now_ns)

    def _within_budget(self, host: str, seen: _Known, notes: list[Entry], now_ns: int) -> Iterator[Entry]:
        earned = (now_ns - seen.refilled_ns) / _SECOND / REFILL_SECONDS
        seen.budget = min(BURST, seen.budget + max(0.0, earned))
        seen.refilled_ns = now_ns
        for note in notes:
            if seen.budget >= 1:
                seen.budget -= 1
                yield note
            else:
                seen.left_out += 1
        if seen.left_out and seen.budget >= BURST / 4:
            seen.budget -= 1
            yield _note(host, "events_left_out", now_ns, f"{seen.left_out} more events on this host")
            seen.left_out = 0


def _reported(state: HostState, now_ns: int) -> list[Entry]:
    """Return the notes of what the agent reports."""
    events = [_event_note(state, event, now_ns) for event in state.events]
    return events + [_memory_note(state, each, now_ns) for each in state.outcomes if each.outcome == OUT_OF_MEMORY]


def _possible(time_ns: int, now_ns: int) -> int:
    """Return a host's time; an impossible one is replaced by the current one."""
    return time_ns if -_LATEST_SECONDS <= (now_ns - time_ns) / _SECOND <= _EARLIEST_SECONDS else now_ns


def _memory_note(state: HostState, outcome: AdjustmentOutcome, now_ns: int) -> Entry:
    """Return the note about a rank that ran out of memory. Its texts come from the host."""
    recovered = not outcome.reason.endswith("not recovered")
    time_ns = _possible(outcome.time_ns, now_ns)
    part = outcome.reason.partition(";")[0]
    where = f"{outcome.step} ({part})" if part else f"{outcome.step}"
    took = f"; the repetition took {outcome.seconds:.2g} s" if recovered and outcome.seconds else ""
    end = took if recovered else "; the step could not be repeated"
    return Entry(
        id=entry_id(time_ns, NOTED, _digest(state.name, *outcome)),
        time_ns=time_ns,
        state=NOTED,
        kind="out_of_memory_recovered" if recovered else "out_of_memory",
        host=state.name,
        run=outcome.run,
        rank=outcome.rank,
        severity="info" if recovered else "warning",
        because=f"out of memory at step {where}{_changed(outcome, recovered)}{end}",
        evidence={"seconds": outcome.seconds} if outcome.seconds else {},
    )


def _changed(outcome: AdjustmentOutcome, recovered: bool) -> str:
    """Return what the rank changed. A rank whose step failed may have kept a smaller value for the next start."""
    if not outcome.name:
        return ""
    if recovered:
        return f"; {outcome.name} {outcome.value_from} → {outcome.value_to}"
    kept = f"; the next start begins with {outcome.value_to}" if outcome.value_to else ""
    return f" with {outcome.name} {outcome.value_from}{kept}"


def _event_note(state: HostState, event: HostEvent, now_ns: int) -> Entry:
    """Return the note of an agent's event."""
    time_ns = _possible(event.time_ns, now_ns)
    code = f" {event.code}" if event.code else ""
    words = f"{event.kind}{code}: {event.text}" if event.text else f"{event.kind}{code}"
    digest = _digest(state.name, *event)
    of_gpu = event.resource.startswith("GPU-")
    return Entry(
        id=entry_id(time_ns, NOTED, digest),
        time_ns=time_ns,
        state=NOTED,
        kind="host_event",
        host=state.name,
        gpu=event.resource if of_gpu else "",
        gpu_index=state.gpu_index_of(event.resource) if of_gpu else None,
        resource="" if of_gpu else event.resource,
        because=words,
        evidence={"code": float(event.code)} if event.code else {},
    )


def _note(host: str, kind: str, time_ns: int, because: str) -> Entry:
    id_ = entry_id(time_ns, NOTED, _digest(host, kind, time_ns))
    return Entry(id=id_, time_ns=time_ns, state=NOTED, kind=kind, host=host, because=because)


def _agent(state: HostState) -> str:
    return f"agent {state.agent_version}" if state.agent_version else ""


def _digest(*parts: object) -> str:
    return blake2s(repr(parts).encode(), digest_size=8).hexdigest()
