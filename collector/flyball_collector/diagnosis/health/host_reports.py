"""What hosts tell beside their readings, once a second for every detector: presence, clocks, events, unavailable readings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.view import View, flags_of, numbers_of
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_proto.unavailable_reading import UnavailableReading  # noqa: TC001  it stands in annotations of attributes

_SECOND = 1e9


class Happening(NamedTuple):
    """An event of a host that was not known a second ago; the time is the collector's."""

    state: HostState
    event: HostEvent
    seconds: float


@dataclass(frozen=True, slots=True)
class Presence:
    """Along every host that is known."""

    received: NDArray[np.float64]  # seconds of the newest record; 0: never
    interval: NDArray[np.float64]  # seconds
    connected: NDArray[np.bool_]
    goodbye: NDArray[np.bool_]
    agent: NDArray[np.bool_]  # an agent speaks; otherwise it is a recording


class HostReports:
    """Looks at the states of a view once, whoever asks first."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._events: dict[str, tuple[HostEvent, ...]] = {}
        self._unavailable: dict[str, tuple[UnavailableReading, ...]] = {}
        self._new: list[Happening] = []
        self._changed: list[HostState] = []
        self._presence: Presence | None = None

    def happenings(self, view: View) -> Sequence[Happening]:
        """Events that came to be known since the last view, oldest first of each host."""
        self._look(view)
        return self._new

    def unavailable_changed(self, view: View) -> Sequence[HostState]:
        """Hosts whose unavailable readings are others than in the last view."""
        self._look(view)
        return self._changed

    def presence(self, view: View) -> Presence:
        """Who is there."""
        self._look(view)
        if self._presence is None:
            states = view.known
            self._presence = Presence(
                numbers_of(states, "received_ns") / _SECOND,
                numbers_of(states, "interval_ms") / 1000,
                flags_of(states, "connected"),
                flags_of(states, "said_goodbye"),
                flags_of(states, "agent_version"),
            )
        return self._presence

    def _look(self, view: View) -> None:
        if view is self._view:
            return
        self._view, self._presence = view, None
        self._new = []
        for state in [state for state in view.states if self._events.get(state.name, ()) is not state.events]:
            before = set(self._events.get(state.name, ()))
            skew = state.clock_skew_seconds or 0.0
            self._new += [Happening(state, e, e.time_ns / _SECOND - skew) for e in state.events if e not in before]
            self._events[state.name] = state.events
        self._changed = [
            state for state in view.states if self._unavailable.get(state.name, ()) is not state.unavailable
        ]
        self._unavailable.update((state.name, state.unavailable) for state in self._changed)
        if len(self._events) + len(self._unavailable) > 4 * len(view.states) + 64:
            self._forget({state.name for state in view.states})

    def _forget(self, names: set[str]) -> None:
        """Let go of hosts that are no more."""
        self._events = {name: events for name, events in self._events.items() if name in names}
        self._unavailable = {name: unavailable for name, unavailable in self._unavailable.items() if name in names}


def quoted(text: str, longest: int = 120) -> str:
    """A host's words as a piece of one line: bounded, without control characters. Whoever shows it escapes it."""
    shown = "".join(letter if letter.isprintable() else "�" for letter in text[:longest])
    return f"“{shown}{'…' if len(text) > longest else ''}”"
