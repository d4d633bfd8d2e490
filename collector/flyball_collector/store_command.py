"""`flyball-collector store backup|size`: the store from outside, while a collector uses it."""

from collections.abc import Sequence
from pathlib import Path

from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.open import open_existing


class StoreCommandError(Exception):
    """The store cannot be backed up or measured; the message says why and what to do."""


def run(url: str, action: str, arguments: Sequence[str]) -> str:
    """Do it; returns what to tell."""
    try:
        store = open_existing(url)
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
