"""Limits what one host may send about adjustments, over all of its streams: a new one gives it nothing more."""

from dataclasses import dataclass

MESSAGES_A_SECOND = 1200.0
BURST_MESSAGES = 2400.0
"""An agent sends at most 1,000 a second, and far fewer unless its processes are hostile."""

BYTES_A_SECOND = 512 * 1024.0
BURST_BYTES = 8 * 1024 * 1024.0
"""256 ranks with 30 KiB each declare their values again after a reconnect. The shortest value takes 2 bytes, and a
message of 96 KiB with nothing else 5 ms, so a host costs at most 30 ms a second."""

_MOST_HOSTS = 4096


@dataclass(slots=True)
class HostBudget:
    """The messages and bytes that a host may still send."""

    messages: float
    bytes: float
    filled: float

    def spend(self, size: int, now: float) -> bool:
        """Count a message of some bytes. Return False beyond a rate."""
        self.renew(now)
        if self.messages < 1 or self.bytes < size:
            return False
        self.messages -= 1
        self.bytes -= size
        return True

    def renew(self, now: float) -> None:
        """Add what has come in since the last time."""
        seconds = now - self.filled
        self.messages = min(BURST_MESSAGES, self.messages + seconds * MESSAGES_A_SECOND)
        self.bytes = min(BURST_BYTES, self.bytes + seconds * BYTES_A_SECOND)
        self.filled = now

    @property
    def is_full(self) -> bool:
        """Return True if it equals a new one."""
        return self.messages >= BURST_MESSAGES and self.bytes >= BURST_BYTES


class HostBudgets:
    """The budgets of all hosts that have sent something recently."""

    def __init__(self) -> None:
        self._budgets: dict[str, HostBudget] = {}

    def __len__(self) -> int:
        return len(self._budgets)

    def of(self, host: str, now: float) -> HostBudget:
        """Return the budget of a host."""
        budget = self._budgets.get(host)
        if budget is None:
            if len(self._budgets) >= _MOST_HOSTS:
                self._forget_full(now)
            budget = self._budgets[host] = HostBudget(BURST_MESSAGES, BURST_BYTES, now)
        return budget

    def _forget_full(self, now: float) -> None:
        for budget in self._budgets.values():
            budget.renew(now)
        self._budgets = {host: budget for host, budget in self._budgets.items() if not budget.is_full}
