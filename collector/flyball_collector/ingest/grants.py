"""Who may replay a spool now, and how much: a fair queue with few places, so that a returning fleet drowns nobody."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(slots=True)
class _Turn:
    until: float  # the place goes to the next in the queue, if there is one
    credit: int = 0  # granted and not yet used
    moved: float = 0.0  # when something was granted or arrived


class ReplayQueue:
    """Pure: told what happens, says who gets how many bytes."""

    def __init__(
        self, places: int, credit_bytes: int, turn_seconds: float = 30.0, stalled_seconds: float = 15.0
    ) -> None:
        self._places = places
        self._credit_bytes = credit_bytes
        self._turn_seconds = turn_seconds
        self._stalled_seconds = stalled_seconds
        self._turns: dict[str, _Turn] = {}
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._owed: dict[str, int] = {}  # credit that a host took along when its turn ended

    @property
    def replaying(self) -> int:
        return len(self._turns)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def crowded(self) -> bool:
        """So many replay, or wait to, as half of the places are for."""
        return len(self._waiting) + len(self._turns) > self._places // 2

    @property
    def vacant(self) -> bool:
        """Somebody waits, and there is a place."""
        return bool(self._waiting) and len(self._turns) < self._places

    def want(self, host: str) -> None:
        """The host has something to replay."""
        if host not in self._turns:
            self._waiting.setdefault(host)

    def leave(self, host: str) -> None:
        """Its backlog is empty."""
        if turn := self._turns.pop(host, None):
            self._owed[host] = self._owed.get(host, 0) + turn.credit
        self._waiting.pop(host, None)

    def forget(self, host: str) -> None:
        """Its stream ended, and all credit with it."""
        self.leave(host)
        self._owed.pop(host, None)

    def spend(self, host: str, count: int, now: float) -> bool:
        """Replayed bytes arrived; false when they were not granted."""
        turn = self._turns.get(host)
        if turn is not None:
            turn.credit -= count
            turn.moved = now
            return turn.credit >= -self._credit_bytes
        owed = self._owed.get(host, 0) - count
        self._owed[host] = owed
        return owed >= -self._credit_bytes

    def due(self, now: float) -> list[tuple[str, int]]:
        """The grants to send now."""
        self._end_turns(now)
        while self._waiting and len(self._turns) < self._places:
            host, _ = self._waiting.popitem(last=False)
            self._turns[host] = _Turn(now + self._turn_seconds, self._owed.pop(host, 0), now)
        grants = []
        for host, turn in self._turns.items():
            if turn.credit < self._credit_bytes // 2:
                grants.append((host, self._credit_bytes - turn.credit))
                turn.credit = self._credit_bytes
                turn.moved = now
        return grants

    def _end_turns(self, now: float) -> None:
        """A place is given up when it is not used, and in turn while others wait."""
        for host, turn in list(self._turns.items()):
            stalled = now - turn.moved >= self._stalled_seconds
            if (now >= turn.until or stalled) and self._waiting:
                self.leave(host)
                if not stalled:
                    self.want(host)
