"""Budgets of messages: of a connection, and of a user over all connections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.adjustments.message_budget import (
    BURST_MESSAGES,
    MESSAGES_A_SECOND,
    USER_BURST_MESSAGES,
    USER_MESSAGES_A_SECOND,
    MessageBudgets,
)
from flyball_agent.runs.listeners import TooManyMessages
from flyball_agent.runs.registry import SocketPeer


def spent(budgets: MessageBudgets, peer: SocketPeer, now: float) -> bool:
    """Return True if the message is accepted."""
    try:
        budgets.spend(peer, now)
    except TooManyMessages:
        return False
    return True


@given(st.lists(st.floats(0, 5), min_size=1, max_size=300))
def test_a_connection_never_exceeds_its_rate(pauses: list[float]) -> None:
    """In any span, it gets at most the burst and the rate; it never waits once it has been quiet."""
    budgets, now, accepted = MessageBudgets(), 0.0, 0
    for pause in pauses:
        now += pause
        accepted += spent(budgets, SocketPeer(1, 1000, 1), now)
    assert accepted <= BURST_MESSAGES + now * MESSAGES_A_SECOND + 1
    assert spent(budgets, SocketPeer(1, 1000, 1), now + BURST_MESSAGES / MESSAGES_A_SECOND)


def test_new_connections_do_not_give_a_user_more() -> None:
    """A user who connects again and again is limited, and another user is not affected."""
    budgets, accepted = MessageBudgets(), 0
    for connection in range(10_000):
        accepted += spent(budgets, SocketPeer(1, 1000, connection), 0.0)
    assert accepted == USER_BURST_MESSAGES
    assert spent(budgets, SocketPeer(2, 1001, 10_001), 0.0)
    seconds = 2.0
    again = sum(spent(budgets, SocketPeer(1, 1000, 20_000 + n), seconds) for n in range(10_000))
    assert again == pytest.approx(seconds * USER_MESSAGES_A_SECOND)
