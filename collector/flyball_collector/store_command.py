"""`flyball-collector store backup|size`: the store from outside, while a collector uses it."""

from collections.abc import Sequence
from pathlib import Path

from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.open import open_store


class StoreCommandError(Exception):
    """The store cannot be backed up or measured; the message says why and what to do."""


def run(url: str, action: str, arguments: Sequence[str]) -> str:
    """Do it; returns what to tell."""
    _check_present(url)
    try:
        store = open_store(url)
    except StoreError as error:
        raise StoreCommandError(str(error)) from None
    try:
        return _back_up(store, Path(arguments[0])) if action == "backup" else f"{store.size_bytes():,} bytes"
    except StoreError as error:
        raise StoreCommandError(str(error)) from None
    finally:
        store.close()


def _back_up(store: Store, target: Path) -> str:
    if target.exists():
        raise StoreCommandError(f"{target} exists already: nothing was changed; name a new file")
    store.backup(str(target))
    return f"wrote {target}, {target.stat().st_size:,} bytes"


def _check_present(url: str) -> None:
    """Opening makes a store that is not there; a backup of nothing would only look like one."""
    if url.startswith("memory:"):
        raise StoreCommandError("store.url is memory: it is gone with its collector, and cannot be read from outside")
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:") and not file.exists():
        raise StoreCommandError(f"{file} does not exist: no collector has written there; check store.url")
