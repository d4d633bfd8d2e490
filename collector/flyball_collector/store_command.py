"""Backup and size of a store, from outside, while a collector uses it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.store_urls import open_existing

Result = TypeVar("Result")


class StoreCommandError(Exception):
    """A store that cannot be backed up or measured; the message gives the reason and a remedy."""


class NoStore(StoreCommandError):
    """A store that does not exist or cannot be opened."""


def back_up(url: str, target: Path) -> int:
    """Write a consistent copy of a store to a new file and return its size in bytes."""

    def copy(store: Store) -> int:
        if target.exists():
            raise StoreCommandError(f"{target} exists already: nothing was changed. Choose another file name")
        store.backup(str(target))
        return target.stat().st_size

    return _with_store(url, copy)


def size_bytes(url: str) -> int:
    """Return the size of a store on disk."""
    return _with_store(url, lambda store: store.size_bytes())


def _with_store(url: str, action: Callable[[Store], Result]) -> Result:
    try:
        store = open_existing(url)
    except StoreError as error:
        raise NoStore(str(error)) from None
    try:
        return action(store)
    except StoreError as error:
        raise StoreCommandError(str(error)) from None
    finally:
        store.close()
