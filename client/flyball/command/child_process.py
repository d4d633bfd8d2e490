"""Child processes that are started, restarted when they end, and stopped in order."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_FIRST_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 30.0
_STABLE_SECONDS = 60.0
_LOG_BYTES = 16 * 1024 * 1024
_PR_SET_PDEATHSIG = 1
_NOT_FOR_CHILDREN = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM")


@dataclass(slots=True)
class Backoff:
    """The wait before the next start. It doubles each time, and begins again after a stable run."""

    wait_seconds: float = 0.0

    def after_run_of(self, seconds: float) -> float:
        """Return the wait after a run of this length."""
        first = self.wait_seconds == 0.0 or seconds >= _STABLE_SECONDS
        self.wait_seconds = _FIRST_WAIT_SECONDS if first else min(_LONGEST_WAIT_SECONDS, 2 * self.wait_seconds)
        return self.wait_seconds


@dataclass(slots=True)
class ChildProcess:
    """One daemon as a child process, with its log in a file."""

    name: str
    command: Sequence[str]
    log: Path
    backoff: Backoff = field(default_factory=Backoff)
    restarts: int = 0
    last_status: int | None = None
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _restart_at: float = 0.0

    def start(self) -> None:
        """Start it. It ends with this process, and does not receive Ctrl-C."""
        _rotate(self.log)
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_CHILDREN}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  this process has no threads yet
            )
        self._started = time.monotonic()

    def check(self, now: float) -> str | None:
        """Restart it if it has ended and its wait is over. Return a message if something happened."""
        if self._process is None:
            if now >= self._restart_at:
                self.start()
                return f"{self.name} has been restarted"
            return None
        status = self._process.poll()
        if status is None:
            return None
        self._process = None
        self.restarts += 1
        self.last_status = status
        wait = self.backoff.after_run_of(now - self._started)
        self._restart_at = now + wait
        return f"{self.name} ended with {_status_text(status)}; restart in {wait:.0f} s (log: {self.log})"

    def terminate(self) -> None:
        """Send SIGTERM without waiting."""
        if self._process is not None:
            self._process.terminate()

    def stop(self, seconds: float) -> None:
        """Send SIGTERM, and SIGKILL if it does not end in time."""
        if self._process is None:
            return
        self.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def log_tail(self, lines: int = 8) -> str:
        """Return the last lines of its log, indented."""
        with contextlib.suppress(OSError):
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 8192))
                tail = log.read().decode("utf-8", "replace").splitlines()[-lines:]
            return "\n".join(f"  {line}" for line in tail)
        return ""


def _die_with_parent() -> None:
    """Ask the kernel for SIGTERM when the parent ends for any reason. Runs in the child; Linux only."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


_LIBC = ctypes.CDLL(None)  # looked up before any fork


def _rotate(log: Path) -> None:
    """Rename a large log; one older log is kept."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


def _status_text(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
