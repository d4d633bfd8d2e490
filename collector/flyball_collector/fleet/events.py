"""What happened on a host lately (an XID, a lost GPU, a full disk), as its records told."""

from collections.abc import Iterable
from typing import NamedTuple

from google.protobuf.message import DecodeError

from flyball_proto.v1 import telemetry_pb2 as pb

MAX_EVENTS = 64
"""Events remembered a host; the store keeps every one with its record."""

_LONGEST = 500


class HostEvent(NamedTuple):
    """One event; `time_ns` is by the host's wall clock, and the text is the host's word."""

    time_ns: int
    kind: str
    resource: str
    code: int
    text: str


def remember(events: tuple[HostEvent, ...], extras: bytes) -> tuple[HostEvent, ...]:
    """The newest events in the order of their time, with those of a record's extras; one that is known counts once."""
    try:
        return recall(events, pb.Record.FromString(extras))
    except DecodeError:  # the door has parsed it before; what it lets through must not stop the readings
        return events


def recall(events: tuple[HostEvent, ...], told: pb.Record) -> tuple[HostEvent, ...]:
    """The same, from a message."""
    return unite(events, map(_event, told.events)) if told.events else events


def unite(events: tuple[HostEvent, ...], more: Iterable[HostEvent]) -> tuple[HostEvent, ...]:
    """The newest of both."""
    return tuple(sorted({*events, *more})[-MAX_EVENTS:])


def _event(event: pb.HostEvent) -> HostEvent:
    kind, resource, text = (word[:_LONGEST] for word in (event.kind, event.resource, event.text))
    return HostEvent(event.time_ns, kind, resource, event.code, text)
