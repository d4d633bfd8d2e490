"""Opens stores by URL."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.sqlite import SqliteStore


class WrongStoreUrl(StoreError):
    """A URL that names no store."""


def open_store(url: str) -> Store:
    """Open the store of `store.url`: `sqlite:///relative`, `sqlite:////absolute` or `memory:`."""
    scheme = url.partition(":")[0]
    opener = _OPENERS.get(scheme)
    if opener is None:
        known = ", ".join(f"{name}:" for name in sorted(_OPENERS))
        raise WrongStoreUrl(f"store URL {url!r}: unknown scheme {scheme!r}; expected one of {known}")
    return opener(url)


def open_existing(url: str) -> Store:
    """Open an existing store. A missing one is an error instead of being created."""
    if url.startswith("memory:"):
        raise WrongStoreUrl(f"store URL {url!r}: such a store exists only inside its collector and cannot be opened")
    file = Path(unquote(url.removeprefix("sqlite:///")))
    if url.startswith("sqlite:") and not file.exists():
        raise StoreError(f"there is no store {file}; check store.url or --url")
    return open_store(url)


def _open_sqlite(url: str) -> Store:
    parts = urlsplit(url)
    if parts.netloc or len(parts.path) < 2:
        raise WrongStoreUrl(f"store URL {url!r}: expected sqlite:////absolute/path or sqlite:///relative/path")
    return SqliteStore(unquote(parts.path[1:]))


def _open_memory(url: str) -> Store:
    if url.removeprefix("memory:") not in {"", "//"}:
        raise WrongStoreUrl(f"store URL {url!r}: expected only memory:")
    return MemoryStore()


_OPENERS: dict[str, Callable[[str], Store]] = {"memory": _open_memory, "sqlite": _open_sqlite}
