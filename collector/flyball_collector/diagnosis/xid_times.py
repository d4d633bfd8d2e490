"""Notes when each XID was last reported, in a bounded table for each host."""

from collections.abc import Iterator, Sequence

from flyball_collector.fleet.events import HostEvent  # noqa: TC001  used in the annotation of an attribute
from flyball_collector.fleet.host import HostState

KIND = "gpu_xid"
MAX_OF_HOST = 64
"""Pairs of GPU and code kept for each host; the oldest pair is dropped."""

_SECOND = 1e9


class XidTimes:
    """The last time of each XID by host, GPU and code, in Unix time of the collector."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[HostEvent, ...]] = {}
        self._times: dict[str, dict[tuple[str, int], float]] = {}

    def update(self, states: Sequence[HostState], now: float) -> None:
        """Take new events. Forget hosts that left."""
        for state in [state for state in states if self._events.get(state.name, ()) is not state.events]:
            self._events[state.name] = state.events
            self._take(state, now)
        if len(self._events) > len(states):
            names = {state.name for state in states}
            self._events = {name: events for name, events in self._events.items() if name in names}
            self._times = {name: times for name, times in self._times.items() if name in names}

    def all(self) -> Iterator[tuple[str, str, int, float]]:
        """Yield (host, GPU, code, seconds) for all hosts."""
        for host in self._times:
            yield from self.of(host)

    def of(self, host: str) -> Iterator[tuple[str, str, int, float]]:
        """Yield (host, GPU, code, seconds) for one host."""
        for (gpu, code), seconds in self._times.get(host, {}).items():
            yield host, gpu, code, seconds

    def _take(self, state: HostState, now: float) -> None:
        skew = state.clock_skew_seconds or 0.0
        for event in (event for event in state.events if event.kind == KIND):
            times = self._times.setdefault(state.name, {})
            key = (event.resource, event.code)
            seconds = min(event.time_ns / _SECOND - skew, now)  # a clock that is ahead must not report future times
            times[key] = max(seconds, times.get(key, 0.0))
            if len(times) > MAX_OF_HOST:
                del times[min(times, key=times.__getitem__)]
