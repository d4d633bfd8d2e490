"""Recent events of a host (an XID, a lost GPU, a full disk), from its records."""

from collections.abc import Iterable
from typing import NamedTuple

from google.protobuf.message import DecodeError

from flyball_collector.fleet.kill_details import KillDetails, kill_details
from flyball_proto.v1 import telemetry_pb2 as pb

MAX_EVENTS = 64
"""Events kept for each host. The store keeps all of them with their records."""

_LONGEST = 500


class HostEvent(NamedTuple):
    """One event. `time_ns` is the host's wall clock, and the text comes from the host."""

    time_ns: int
    kind: str
    resource: str
    code: int
    text: str
    kill: KillDetails | None = None  # of an oom_kill


def add_events(events: tuple[HostEvent, ...], extras: bytes) -> tuple[HostEvent, ...]:
    """Add the events of a record's extras. Return the newest in order of time, without duplicates."""
    try:
        return add_events_of(events, pb.Record.FromString(extras))
    except DecodeError:  # the record reader has parsed it before; an invalid message must not affect the readings
        return events


def add_events_of(events: tuple[HostEvent, ...], record: pb.Record) -> tuple[HostEvent, ...]:
    """Add the events of a parsed record."""
    return merge_events(events, map(_event, record.events)) if record.events else events


def merge_events(events: tuple[HostEvent, ...], more: Iterable[HostEvent]) -> tuple[HostEvent, ...]:
    """Return the newest events of both."""
    return tuple(sorted({*events, *more}, key=_order)[-MAX_EVENTS:])


def _order(event: HostEvent) -> tuple[int, str, str, int, str]:
    return event[:5]


def _event(event: pb.HostEvent) -> HostEvent:
    kind, resource, text = (word[:_LONGEST] for word in (event.kind, event.resource, event.text))
    return HostEvent(event.time_ns, kind, resource, event.code, text, kill_details(event))
