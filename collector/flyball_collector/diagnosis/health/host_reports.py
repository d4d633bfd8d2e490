"""Collects what hosts report in addition to readings, once a second for all detectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.view import View, flags_of, numbers_of
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_proto.unavailable_reading import UnavailableReading  # noqa: TC001  used in annotations of attributes

_SECOND = 1e9


class NewHostEvent(NamedTuple):
    """A host event that is new since the last second. The time is the collector's."""

    state: HostState
    event: HostEvent
    seconds: float


@dataclass(frozen=True, slots=True)
class Presence:
    """The presence of all known hosts."""

    received: NDArray[np.float64]  # time of the newest record in seconds; 0: never
    interval: NDArray[np.float64]  # seconds
    connected: NDArray[np.bool_]
    goodbye: NDArray[np.bool_]
    agent: NDArray[np.bool_]  # the data comes from an agent, not from a recording


class HostReports:
    """Reads the host states of a view once, however many detectors use them."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._events: dict[str, tuple[HostEvent, ...]] = {}
        self._unavailable: dict[str, tuple[UnavailableReading, ...]] = {}
        self._new: list[NewHostEvent] = []
        self._changed: list[HostState] = []
        self._presence: Presence | None = None

    def new_events(self, view: View) -> Sequence[NewHostEvent]:
        """Return the events that are new since the last view, oldest first for each host."""
        self._update(view)
        return self._new

    def unavailable_changed(self, view: View) -> Sequence[HostState]:
        """Return the hosts whose unavailable readings changed since the last view."""
        self._update(view)
        return self._changed

    def presence(self, view: View) -> Presence:
        """Return which hosts are connected and when they last reported."""
        self._update(view)
        if self._presence is None:
            states = view.known
            self._presence = Presence(
                numbers_of(states, "received_ns") / _SECOND,
                numbers_of(states, "interval_ms") / 1000,
                flags_of(states, "connected"),
                flags_of(states, "goodbye"),
                flags_of(states, "agent_version"),
            )
        return self._presence

    def _update(self, view: View) -> None:
        if view is self._view:
            return
        self._view, self._presence = view, None
        self._new = []
        for state in [state for state in view.states if self._events.get(state.name, ()) is not state.events]:
            before = set(self._events.get(state.name, ()))
            skew = state.clock_skew_seconds or 0.0
            self._new += [NewHostEvent(state, e, e.time_ns / _SECOND - skew) for e in state.events if e not in before]
            self._events[state.name] = state.events
        self._changed = [
            state for state in view.states if self._unavailable.get(state.name, ()) is not state.unavailable
        ]
        self._unavailable.update((state.name, state.unavailable) for state in self._changed)
        if len(self._events) + len(self._unavailable) > 4 * len(view.states) + 64:
            self._forget({state.name for state in view.states})

    def _forget(self, names: set[str]) -> None:
        """Forget hosts that no longer exist."""
        self._events = {name: events for name, events in self._events.items() if name in names}
        self._unavailable = {name: unavailable for name, unavailable in self._unavailable.items() if name in names}


def quoted(text: str, longest: int = 120) -> str:
    """Quote text from a host in one line: shortened, without control characters. Output code must still escape it."""
    shown = "".join(letter if letter.isprintable() else "�" for letter in text[:longest])
    return f"“{shown}{'…' if len(text) > longest else ''}”"
