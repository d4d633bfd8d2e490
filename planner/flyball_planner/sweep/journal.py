"""Results on disk, one line each: written before anything else happens, so that a killed sweep goes on where it was."""

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flyball_reports.errors import InputError

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
            self._lock(self._file)
            self._load(self._file)
        except BaseException as error:
            self.__exit__(None, None, None)
            if isinstance(error, OSError):
                raise self._unkept(error) from None
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
        try:
            os.write(self._file, _line(record))
            os.fsync(self._file)
        except OSError as error:
            raise self._unkept(error) from None

    def _unkept(self, error: OSError) -> InputError:
        return InputError(f"{self.path} cannot keep results: {error.strerror or error}; give another file")

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path} is in use by another sweep; wait for it, or give another file") from None

    def _load(self, file: int) -> None:
        if not stat.S_ISREG(os.fstat(file).st_mode):  # a device may have no end
            raise InputError(f"{self.path} cannot keep results: it is no file; give another file")
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]  # a line that a kill tore off is measured again
        if not whole and not _line(self._head).startswith(content):
            raise InputError(f"{self.path} holds no results of a sweep; give another file")
        lines = [self._parsed(number, line) for number, line in enumerate(whole.splitlines(), start=1)]
        if lines and lines[0] != json.loads(_line(self._head)):
            raise InputError(
                f"{self.path} holds results of something else ({lines[0]}); give another file or remove it"
            )
        if len(whole) < len(content):  # only now: a file that is no journal stays as it is
            os.ftruncate(file, len(whole))
        if not lines:
            self.append(self._head)
        self.records = lines[1:]

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(line)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise InputError(f"{self.path}:{number} is no result of a sweep; give another file or remove the line")
        return parsed


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"
