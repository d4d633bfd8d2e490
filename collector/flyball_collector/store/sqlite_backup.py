"""Makes a consistent copy of a SQLite store that is in use."""

import os
import sqlite3
from pathlib import Path

from flyball_collector.store.contract import StoreError
from flyball_collector.store.sqlite_file import SqliteFile, store_errors


def backup(file: SqliteFile, target: Path) -> None:
    """Copy the store. The copy gets its name only when it is complete and flushed. An older one is replaced."""
    if target.exists() and target.samefile(file.path):
        raise StoreError(f"{target} is the store itself; choose another file for the backup")
    partial = target.with_name(target.name + ".partial")
    with store_errors(target, "writing the backup"):
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with file.read("reading for the backup") as source:
                _copy(source, partial)
            partial.replace(target)
            _flush(target.parent)
        finally:
            partial.unlink(missing_ok=True)


def _copy(source: sqlite3.Connection, path: Path) -> None:
    """Copy from one view of the source in one step. Writers are not blocked."""
    target = sqlite3.connect(path, isolation_level=None)
    try:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    finally:
        target.close()
    _flush(path)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
