"""A journal of results on disk, so that a sweep that was killed can continue."""

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


class WrongJournal(InputError):
    """A file that is not the journal of this measurement. It is not changed."""


class SweepJournal:
    """An append-only file of JSON lines. Its first line identifies the measurement, so that sweeps are never mixed.

    A context manager. Only one process at a time can open it.
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
                raise self._write_error(error) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)  # this also releases the lock
            self._file = None

    def append(self, record: Mapping[str, object]) -> None:
        """Append a record; it is durable when this returns."""
        if self._file is None:
            raise RuntimeError("the journal is not open")
        try:
            os.write(self._file, _line(record))
            os.fsync(self._file)
        except OSError as error:
            raise self._write_error(error) from None

    def _write_error(self, error: OSError) -> InputError:
        return InputError(f"{self.path} cannot store results: {error.strerror or error}; choose another file")

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path} is in use by another sweep; wait for it or choose another file") from None

    def _load(self, file: int) -> None:
        if not stat.S_ISREG(os.fstat(file).st_mode):  # a device may have no end
            raise WrongJournal(f"{self.path} cannot store results: it is not a regular file; choose another file")
        content = self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]  # an incomplete last line is measured again
        if not complete and not _line(self._head).startswith(content):
            raise WrongJournal(f"{self.path} does not contain results of a sweep; choose another file")
        lines = [self._parsed(number, line) for number, line in enumerate(complete.splitlines(), start=1)]
        if lines and lines[0] != json.loads(_line(self._head)):
            raise WrongJournal(
                f"{self.path} contains results of another sweep ({lines[0]}); choose another file or remove it"
            )
        if len(complete) < len(content):  # only now, so that other files are never changed
            os.ftruncate(file, len(complete))
        if not lines:
            self.append(self._head)
        self.records = lines[1:]

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(line)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise WrongJournal(
                f"{self.path}:{number} is not a result of a sweep; choose another file or remove the line"
            )
        return parsed


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"
