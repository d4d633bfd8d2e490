"""Host events that wait for the next record."""

from collections import deque

from flyball_agent.clock import HostClock
from flyball_proto.v1 import telemetry_pb2 as pb

MAX_EVENTS = 256
MAX_TEXT = 500


class HostEventQueue:
    """Events of this agent or host. Any thread may add one; beyond `MAX_EVENTS` the oldest are dropped."""

    def __init__(self, clock: HostClock) -> None:
        self._clock = clock
        self._events: deque[pb.HostEvent] = deque(maxlen=MAX_EVENTS)

    def announce(self, kind: str, text: str) -> None:
        """Add an event that happened now."""
        self._events.append(pb.HostEvent(kind=kind, time_ns=self._clock.wall_ns(), text=text[:MAX_TEXT]))

    def take(self) -> list[pb.HostEvent]:
        """Remove and return all events."""
        events: list[pb.HostEvent] = []
        while self._events:
            events.append(self._events.popleft())
        return events
