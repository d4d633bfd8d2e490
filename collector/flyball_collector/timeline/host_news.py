"""News of the hosts themselves: what their agents told, and who came and went; without flooding.

A host that goes and comes back at once (its stream is renewed each hour) is no news. A host that does so again and
again is told a few times, and then counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2s

from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_collector.timeline.entry import NOTED, Entry, entry_id

AWAY_SECONDS = 15.0
"""A host that is back by then was never away."""

SETTLE_SECONDS = 60.0
"""After the collector's start hosts come back one by one: that is no news."""

BURST = 16
REFILL_SECONDS = 60.0
"""Notes of one host told at once; then one a minute, and the rest as a number."""

OLD_SECONDS = 600.0
"""What a host tells at its first sight and is older was told before the collector was restarted."""

_EARLIEST_SECONDS = 31 * 86400.0
_LATEST_SECONDS = 60.0
_SECOND = 10**9


@dataclass(slots=True)
class _Seen:
    """What was last seen of a host."""

    connected: bool
    events: tuple[HostEvent, ...]
    gone_ns: int | None = None  # since when its stream is gone, until that was told
    told_gone: bool = False
    allowance: float = float(BURST)
    refilled_ns: int = 0
    left_out: int = 0
    known: set[str] = field(default_factory=set)


class HostNews:
    """Looks at every host once a second, and says what is new."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Seen] = {}
        self._started_ns: int | None = None

    def look(self, states: Sequence[HostState], now_ns: int) -> list[Entry]:
        """Notes, oldest first."""
        if self._started_ns is None:
            self._started_ns = now_ns
        notes: list[Entry] = []
        for state in states:
            seen = self._hosts.get(state.name)
            if seen is None:
                notes += self._meet(state, now_ns)
            elif (
                state.connected is not seen.connected
                or state.events is not seen.events
                or seen.gone_ns is not None
                or seen.left_out
            ):
                notes += self._compare(state, seen, now_ns)
        if len(states) < len(self._hosts):
            names = {state.name for state in states}
            self._hosts = {name: seen for name, seen in self._hosts.items() if name in names}
        return sorted(notes, key=lambda note: note.id)

    def _meet(self, state: HostState, now_ns: int) -> Iterator[Entry]:
        seen = self._hosts[state.name] = _Seen(state.connected, state.events, refilled_ns=now_ns)
        notes = [_told(state, event, now_ns) for event in state.events]
        seen.known = {note.id for note in notes}
        recent = [note for note in notes if now_ns - note.time_ns < OLD_SECONDS * _SECOND]
        if state.connected and now_ns - (self._started_ns or 0) > SETTLE_SECONDS * _SECOND:
            recent.append(_note(state.name, "host_connected", now_ns, _who(state)))
        yield from self._within_allowance(state.name, seen, recent, now_ns)

    def _compare(self, state: HostState, seen: _Seen, now_ns: int) -> Iterator[Entry]:
        notes: list[Entry] = []
        if state.events is not seen.events:
            told = [_told(state, event, now_ns) for event in state.events]
            notes += [note for note in told if note.id not in seen.known]
            seen.events, seen.known = state.events, {note.id for note in told}
        if state.connected:
            if seen.told_gone:
                notes.append(_note(state.name, "host_connected", now_ns, _who(state)))
            seen.gone_ns, seen.told_gone = None, False
        elif seen.connected:
            seen.gone_ns = now_ns
        if seen.gone_ns is not None and now_ns - seen.gone_ns >= AWAY_SECONDS * _SECOND:
            how = "its agent was stopped in order" if state.said_goodbye else "its stream ended without a goodbye"
            notes.append(_note(state.name, "host_disconnected", seen.gone_ns, how))
            seen.gone_ns, seen.told_gone = None, True
        seen.connected = state.connected
        yield from self._within_allowance(state.name, seen, notes, now_ns)

    def _within_allowance(self, host: str, seen: _Seen, notes: list[Entry], now_ns: int) -> Iterator[Entry]:
        earned = (now_ns - seen.refilled_ns) / _SECOND / REFILL_SECONDS
        seen.allowance = min(BURST, seen.allowance + max(0.0, earned))
        seen.refilled_ns = now_ns
        for note in notes:
            if seen.allowance >= 1:
                seen.allowance -= 1
                yield note
            else:
                seen.left_out += 1
        if seen.left_out and seen.allowance >= BURST / 4:
            seen.allowance -= 1
            yield _note(host, "events_left_out", now_ns, f"{seen.left_out} more things happened on this host")
            seen.left_out = 0


def _told(state: HostState, event: HostEvent, now_ns: int) -> Entry:
    """What an agent told; a time that cannot be is replaced by now."""
    since = (now_ns - event.time_ns) / _SECOND
    time_ns = event.time_ns if -_LATEST_SECONDS <= since <= _EARLIEST_SECONDS else now_ns
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


def _who(state: HostState) -> str:
    return f"agent {state.agent_version}" if state.agent_version else ""


def _digest(*parts: object) -> str:
    return blake2s(repr(parts).encode(), digest_size=8).hexdigest()
