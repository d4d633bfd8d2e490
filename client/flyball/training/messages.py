"""Messages between the training and the agent other than reports: orders of the agent, and answers to them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.training.agent_link import AgentLink

    Action = Callable[[Any, dict[str, Any]], object]

_MOST_WAITING = 16
ROOMS = {"adjustments": "flyball.adjustments", "capture": "flyball.captures"}
"""Modules with a function `handle(run, message)`. One is imported when a message of its kind arrives."""


class AgentMessages:
    """Actions by kind of message, and the messages that wait to be sent."""

    __slots__ = ("_actions", "_waiting")

    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}
        self._waiting: list[bytes] = []

    def on(self, kind: str, action: Action | None) -> None:
        """Set or remove the action for a kind."""
        if action is None:
            self._actions.pop(kind, None)
        else:
            self._actions[kind] = action

    def add(self, message: dict[str, Any], max_bytes: int) -> bool:
        """Keep a message until the next report. Return False if it is too long, or too many wait."""
        import json

        line = json.dumps(message).encode() + b"\n"
        if len(line) > max_bytes or len(self._waiting) >= _MOST_WAITING:
            return False
        self._waiting.append(line)
        return True

    def send(self, link: AgentLink, now: int) -> None:
        """Send the messages that wait."""
        while self._waiting and link.send(self._waiting[0], now):
            del self._waiting[0]

    def receive(self, run: object, lines: list[bytes]) -> None:
        """Act on what the agent has sent. Kinds of newer agents are ignored."""
        for line in lines:
            try:
                self._act(run, line)
            except Exception:  # noqa: BLE001, S112  it must not reach the training
                continue

    def _act(self, run: object, line: bytes) -> None:
        kind = line.split(b'"', 4)[3].decode()  # the agent writes it first; importing `json` takes 11 ms
        action = self._actions.get(kind)
        if action is None and kind in ROOMS:
            from importlib import import_module

            action = import_module(ROOMS[kind]).handle
        if action is not None:
            import json

            message = json.loads(line)
            if message["kind"] == kind:
                action(run, message)
