"""Factories of all stores for the contract suite, and a clock that tests move."""

from collections.abc import Callable
from pathlib import Path

from flyball_collector.store.contract import Store
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.sqlite import SqliteStore

Clock = Callable[[], int]
Factory = Callable[[Path, Clock], Store]


class ManualClock:
    """Nanoseconds that only the test moves."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def _memory(_folder: Path, clock: Clock) -> Store:
    return MemoryStore(clock=clock)


def _sqlite(folder: Path, clock: Clock) -> Store:
    return SqliteStore(folder / "flyball.db", clock=clock)


FACTORIES: dict[str, Factory] = {"memory": _memory, "sqlite": _sqlite}
