"""A fair queue with few slots: it decides which hosts may replay, so that a returning fleet cannot flood ingest."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(slots=True)
class _Slot:
    until: float  # the next in the queue, if any, gets the slot then
    credit: int = 0  # bytes granted and not used yet
    moved_at: float = 0.0  # time of the last grant or arrival


class ReplayQueue:
    """Grants replay credit in bytes. It is pure: time is an argument."""

    def __init__(
        self, slots: int, credit_bytes: int, slot_seconds: float = 30.0, stalled_seconds: float = 15.0
    ) -> None:
        self._slot_count = slots
        self._credit_bytes = credit_bytes
        self._slot_seconds = slot_seconds
        self._stalled_seconds = stalled_seconds
        self._slots: dict[str, _Slot] = {}
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._carried_credit: dict[str, int] = {}  # credit left when a host's slot ended

    @property
    def replaying(self) -> int:
        return len(self._slots)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def busy(self) -> bool:
        """Return True if the hosts that replay or wait exceed half of the slots."""
        return len(self._waiting) + len(self._slots) > self._slot_count // 2

    @property
    def vacant(self) -> bool:
        """Return True if a host waits and a slot is free."""
        return bool(self._waiting) and len(self._slots) < self._slot_count

    def want(self, host: str) -> None:
        """Queue a host that has a backlog."""
        if host not in self._slots:
            self._waiting.setdefault(host)

    def leave(self, host: str) -> None:
        """Remove a host whose backlog is empty."""
        if slot := self._slots.pop(host, None):
            self._carried_credit[host] = self._carried_credit.get(host, 0) + slot.credit
        self._waiting.pop(host, None)

    def forget(self, host: str) -> None:
        """Remove a host whose stream ended, together with its credit."""
        self.leave(host)
        self._carried_credit.pop(host, None)

    def spend(self, host: str, count: int, now: float) -> bool:
        """Count replayed bytes. Return False if they exceed the grant."""
        slot = self._slots.get(host)
        if slot is not None:
            slot.credit -= count
            slot.moved_at = now
            return slot.credit >= -self._credit_bytes
        left = self._carried_credit.get(host, 0) - count
        self._carried_credit[host] = left
        return left >= -self._credit_bytes

    def due(self, now: float) -> list[tuple[str, int]]:
        """Return the grants to send now, as host and bytes."""
        self._free_slots(now)
        while self._waiting and len(self._slots) < self._slot_count:
            host, _ = self._waiting.popitem(last=False)
            self._slots[host] = _Slot(now + self._slot_seconds, self._carried_credit.pop(host, 0), now)
        grants = []
        for host, slot in self._slots.items():
            if slot.credit < self._credit_bytes // 2:
                grants.append((host, self._credit_bytes - slot.credit))
                slot.credit = self._credit_bytes
                slot.moved_at = now
        return grants

    def _free_slots(self, now: float) -> None:
        """Free slots that stalled or are used up while other hosts wait."""
        for host, slot in list(self._slots.items()):
            stalled = now - slot.moved_at >= self._stalled_seconds
            if (now >= slot.until or stalled) and self._waiting:
                self.leave(host)
                if not stalled:
                    self.want(host)
