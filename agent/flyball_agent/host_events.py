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
        self.add(pb.HostEvent(kind=kind, text=text))

    def add(self, event: pb.HostEvent) -> None:
        """Add an event that happened now, with its resource and details."""
        event.time_ns, event.text = self._clock.wall_ns(), event.text[:MAX_TEXT]
        self._events.append(event)

    def take(self) -> list[pb.HostEvent]:
        """Remove and return all events."""
        events: list[pb.HostEvent] = []
        while self._events:
            events.append(self._events.popleft())
        return events
