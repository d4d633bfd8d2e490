"""The use of cards by processes, and the totals of a card."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from flyball_agent.probes.probe import Unavailable

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """One process on one card. None: unknown."""

    pid: int
    address: str
    memory_bytes: int | None = None
    utilization: float | None = None


class ProcessSource(Protocol):
    """Finds the processes on the cards of one vendor."""

    @property
    def fault(self) -> Unavailable | None:
        """The reason why some processes may be missing."""
        ...

    def read(self, now: float) -> Sequence[DeviceUse]:
        """Return the processes; `now` is monotonic time in seconds."""
        ...


def united(uses: Iterable[DeviceUse]) -> list[DeviceUse]:
    """Return one entry for each process and card, with the larger amounts, because two sources see the same memory."""
    found: dict[tuple[int, str], DeviceUse] = {}
    for use in uses:
        key = (use.pid, use.address)
        other = found.get(key, use)
        found[key] = DeviceUse(
            use.pid,
            use.address,
            _larger(other.memory_bytes, use.memory_bytes),
            _larger(other.utilization, use.utilization),
        )
    return [found[key] for key in sorted(found)]


def total_utilization(uses: Iterable[DeviceUse]) -> float | None:
    """Return the utilisation of a card from its processes: 0 without any, None if it is unknown for all of them."""
    shares = [use.utilization for use in uses]
    known = [share for share in shares if share is not None]
    return min(1.0, sum(known)) if known or not shares else None


def total_memory(uses: Iterable[DeviceUse]) -> int | None:
    """Return the memory that processes use on a card: 0 without any, None if it is unknown for all of them."""
    amounts = [use.memory_bytes for use in uses]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known or not amounts else None


def _larger(one: T | None, other: T | None) -> T | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
