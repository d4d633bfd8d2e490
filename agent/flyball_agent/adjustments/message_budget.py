"""Limits how many messages go to the collector, so that one process or user cannot crowd out the others."""

from dataclasses import dataclass

from flyball_agent.runs.listeners import TooManyMessages
from flyball_agent.runs.registry import SocketPeer

MESSAGES_A_SECOND = 4.0
BURST_MESSAGES = 40.0
"""Of a connection. A rank declares its values every 30 s and when they change, and answers an offer in a few lines."""

USER_MESSAGES_A_SECOND = 400.0
USER_BURST_MESSAGES = 2000.0
"""Of all connections of a user, because anyone can open new ones. A host has at most 256 at a time."""

_MOST_BUDGETS = 4096


@dataclass(slots=True)
class _Budget:
    rate: float
    burst: float
    left: float
    filled: float

    def renew(self, now: float) -> None:
        self.left = min(self.burst, self.left + (now - self.filled) * self.rate)
        self.filled = now


class MessageBudgets:
    """The messages that connections and users may still send."""

    def __init__(self) -> None:
        self._budgets: dict[SocketPeer | int, _Budget] = {}

    def spend(self, peer: SocketPeer, now: float) -> None:
        """Count a message. Raise `TooManyMessages` beyond a rate."""
        own = self._of(peer, MESSAGES_A_SECOND, BURST_MESSAGES, now)
        of_user = self._of(peer.uid, USER_MESSAGES_A_SECOND, USER_BURST_MESSAGES, now)
        if own.left < 1 or of_user.left < 1:
            raise TooManyMessages(
                f"more than {MESSAGES_A_SECOND:g} messages a second about adjustments; this one is dropped"
            )
        own.left -= 1
        of_user.left -= 1

    def _of(self, key: SocketPeer | int, rate: float, burst: float, now: float) -> _Budget:
        budget = self._budgets.get(key)
        if budget is None:
            if len(self._budgets) >= _MOST_BUDGETS:
                self._forget_full(now)
            budget = self._budgets[key] = _Budget(rate, burst, burst, now)
        budget.renew(now)
        return budget

    def _forget_full(self, now: float) -> None:
        """Forget budgets that are full again: a new one is the same."""
        for budget in self._budgets.values():
            budget.renew(now)
        self._budgets = {key: budget for key, budget in self._budgets.items() if budget.left < budget.burst}
