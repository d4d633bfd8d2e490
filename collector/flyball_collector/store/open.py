"""Stores by URL."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.sqlite import SqliteStore


def open_store(url: str) -> Store:
    """Open the store that `store.url` names: `sqlite:///relative`, `sqlite:////absolute` or `memory:`."""
    scheme = url.partition(":")[0]
    opener = _OPENERS.get(scheme)
    if opener is None:
        known = ", ".join(f"{name}:" for name in sorted(_OPENERS))
        raise StoreError(f"store.url {url!r}: unknown kind of store {scheme!r}; known are {known}")
    return opener(url)


def open_existing(url: str) -> Store:
    """The same, but a store that is not there is an error: opening one would make it."""
    if url.startswith("memory:"):
        raise StoreError("the store is memory: it is gone with its collector, and cannot be read from outside")
    file = Path(unquote(url.removeprefix("sqlite:///")))
    if url.startswith("sqlite:") and not file.exists():
        raise StoreError(f"{file} does not exist: no collector has written there; check store.url")
    return open_store(url)


def _open_sqlite(url: str) -> Store:
    parts = urlsplit(url)
    if parts.netloc or len(parts.path) < 2:
        raise StoreError(f"store.url {url!r}: expected sqlite:////absolute/path or sqlite:///relative/path")
    return SqliteStore(unquote(parts.path[1:]))


def _open_memory(url: str) -> Store:
    if url.removeprefix("memory:") not in {"", "//"}:
        raise StoreError(f"store.url {url!r}: memory: takes nothing behind the colon")
    return MemoryStore()


_OPENERS: dict[str, Callable[[str], Store]] = {"memory": _open_memory, "sqlite": _open_sqlite}
