"""Stacks that a process writes itself: Python's faulthandler, on a signal that the process has chosen.

The client keeps a file in memory whose name has the number of the signal. The agent finds it among the open files of
the process, so no message is needed: it works when the rank hangs, and after a restart of the agent.
"""

import os
import re
import signal
import stat
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from flyball_agent.captures.order import CaptureFailed

WAIT_SECONDS = 3.0
"""A handler in C needs milliseconds, but the process may be short of CPU time."""

_POLL_SECONDS = 0.02
_QUIET_POLLS = 3  # faulthandler writes thread by thread
_MAX_FILES = 8192
_MAX_BYTES = 1024 * 1024
_NAME = re.compile(r"^/memfd:flyball-stacks-(\d{1,2}) \(deleted\)$")


@dataclass(frozen=True, slots=True)
class StacksFile:
    """The file to which the process writes, and the signal that makes it write."""

    path: Path
    signal: int


def find_stacks_file(folder: Path) -> StacksFile | None:
    """Return the file of a process; None if it has none, or the agent may not look."""
    try:
        paths = list(islice((folder / "fd").iterdir(), _MAX_FILES))
    except OSError:
        return None
    for path in paths:
        try:
            found = _NAME.match(str(path.readlink()))
        except OSError:
            continue
        if found and signal.SIGRTMIN <= int(found[1]) <= signal.SIGRTMAX:
            return StacksFile(path, int(found[1]))
    return None


def write_and_read(file: StacksFile, folder: Path, pid: int) -> str:
    """Send the signal and return what the process writes. Raise `CaptureFailed` if it writes nothing."""
    try:
        process = os.pidfd_open(pid)
        try:
            return _write_and_read(file, folder, process)
        finally:
            os.close(process)
    except OSError as error:
        raise CaptureFailed(f"signal {file.signal} for the stacks: {error.strerror or error}") from None


def _write_and_read(file: StacksFile, folder: Path, process: int) -> str:
    descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CaptureFailed("the file for the stacks is not a regular file")
        before = os.fstat(descriptor).st_size
        if not catches(folder, file.signal):  # its default action would end the training
            raise CaptureFailed(f"the process no longer handles signal {file.signal}")
        signal.pidfd_send_signal(process, file.signal)
        size = _wait_for_end(descriptor, before)
        text = os.pread(descriptor, min(_MAX_BYTES, size - before), before).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    if not text:
        raise CaptureFailed(f"the process wrote no stacks within {WAIT_SECONDS:g} s of signal {file.signal}")
    return text


def _wait_for_end(descriptor: int, before: int) -> int:
    """Return the size of the file when it has grown and then stayed the same for a moment."""
    deadline, size, quiet = time.monotonic() + WAIT_SECONDS, before, 0
    while time.monotonic() < deadline and (size == before or quiet < _QUIET_POLLS):
        time.sleep(_POLL_SECONDS)
        newest = os.fstat(descriptor).st_size
        quiet = quiet + 1 if newest == size else 0
        size = max(size, newest)
    return size


def catches(folder: Path, number: int) -> bool:
    """Return True if the process has a handler for a signal."""
    try:
        status = (folder / "status").read_text(errors="replace")
    except OSError:
        return False
    found = re.search(r"^SigCgt:\s*([0-9a-fA-F]+)$", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)
