"""Results on disk, one line each: written before anything else happens, so that a killed sweep goes on where it was."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flyball_planner.errors import PlanError

VERSION = 1


class Journal:
    """An append-only file of JSON lines. The first says what is measured, so that two sweeps are never mixed.

    A context manager; only one process at a time may hold it.
    """

    def __init__(self, path: Path, subject: Mapping[str, object]) -> None:
        self.path = path
        self._head = {"flyball_journal": VERSION, **subject}
        self._file: int | None = None
        self.records: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise PlanError(f"{self.path} cannot keep results: {error.strerror or error}; give another file") from None
        try:
            self._lock(self._file)
            self._load(self._file)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)  # and with it the lock
            self._file = None

    def append(self, record: Mapping[str, object]) -> None:
        """Durable when this returns."""
        if self._file is None:
            raise RuntimeError("the journal is not open")
        os.write(self._file, _line(record))
        os.fsync(self._file)

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(f"{self.path} is in use by another sweep; wait for it, or give another file") from None

    def _load(self, file: int) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]  # a line that a kill tore off is measured again
        if len(whole) < len(content):
            os.ftruncate(file, len(whole))
        if not whole:
            self.append(self._head)
            return
        head, *records = (self._parsed(number, line) for number, line in enumerate(whole.splitlines(), start=1))
        if head != json.loads(_line(self._head)):
            raise PlanError(f"{self.path} holds results of something else ({head}); give another file or remove it")
        self.records = records

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(line)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise PlanError(f"{self.path}:{number} is no result of a sweep; give another file or remove the line")
        return parsed


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"
