"""What a connection tells of, and how much it takes."""

from dataclasses import dataclass
from typing import NamedTuple

from flyball_collector.wire.request import Request


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the other side may ask for."""

    message_bytes: int
    streams: int = 8  # at once; an agent has one
    header_bytes: int = 16 * 1024  # of one call: what gRPC takes at most
    window_bytes: int = 512 * 1024  # of messages that nobody has taken yet: two of a replay
    idle_frames: int = 300  # without data, between two rests (a second or so): agents send one, a flood thousands


class Opened(NamedTuple):
    """A call begins."""

    stream: int
    request: Request


class Received(NamedTuple):
    """A message came; whoever takes it calls `Connection.taken`."""

    stream: int
    message: bytes


class Finished(NamedTuple):
    """The other side has said everything."""

    stream: int


class Cancelled(NamedTuple):
    """The call is over: the other side gave it up, or broke a rule. Nothing more is to be said."""

    stream: int


class Broken(NamedTuple):
    """The connection is over, once what is outgoing is sent."""

    reason: str


Event = Opened | Received | Finished | Cancelled | Broken
