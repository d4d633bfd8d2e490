"""Events that a connection emits, and the limits that it enforces."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from flyball_collector.wire.frames import ErrorCode
from flyball_collector.wire.request import Request


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what a client may send."""

    message_bytes: int
    message_bytes_by_path: Mapping[str, int] = field(default_factory=dict)  # smaller limits of some methods
    first_message_bytes: int | None = None  # of a call: a smaller limit until its client has introduced itself
    streams: int = 8  # concurrent; an agent opens one
    header_bytes: int = 16 * 1024  # per call; gRPC's own limit
    window_bytes: int = 512 * 1024  # of unconsumed messages: two replay messages
    idle_frames: int = 300  # without content, per second or so: an agent sends one, a flood thousands
    work_micros: int = 50_000  # of CPU that headers, tiny frames and the like may cost per second or so; see `work`


class Opened(NamedTuple):
    """A call began."""

    stream: int
    request: Request


class Received(NamedTuple):
    """A message arrived. Its consumer calls `Connection.consumed`."""

    stream: int
    message: bytes


class Finished(NamedTuple):
    """The client has sent its last message."""

    stream: int


class Cancelled(NamedTuple):
    """The call is over: the client cancelled it or violated the protocol. No status must be sent."""

    stream: int


class Broken(NamedTuple):
    """The connection ends as soon as its outgoing bytes are sent."""

    reason: str
    code: ErrorCode


Event = Opened | Received | Finished | Cancelled | Broken
