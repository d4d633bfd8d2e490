"""Child processes that are started, watched, started again when they die, and ended in order."""

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
    """How long to wait before the next start: twice as long each time, from the beginning after a stable life."""

    wait_seconds: float = 0.0

    def after_life_of(self, seconds: float) -> float:
        """The wait after a life that took this long."""
        first = self.wait_seconds == 0.0 or seconds >= _STABLE_SECONDS
        self.wait_seconds = _FIRST_WAIT_SECONDS if first else min(_LONGEST_WAIT_SECONDS, 2 * self.wait_seconds)
        return self.wait_seconds


@dataclass(slots=True)
class Child:
    """One daemon as a child process, with its log in a file."""

    name: str
    command: Sequence[str]
    log: Path
    backoff: Backoff = field(default_factory=Backoff)
    deaths: int = 0
    last_status: int | None = None
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _again: float = 0.0

    def start(self) -> None:
        """Start it; it dies with us, and Ctrl-C reaches only us."""
        _keep_small(self.log)
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_CHILDREN}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  no thread of ours runs yet
            )
        self._started = time.monotonic()

    def tend(self, now: float) -> str | None:
        """Start it again when its wait is over; returns what happened to it, if anything did."""
        if self._process is None:
            if now >= self._again:
                self.start()
                return f"{self.name} started again"
            return None
        status = self._process.poll()
        if status is None:
            return None
        self._process = None
        self.deaths += 1
        self.last_status = status
        wait = self.backoff.after_life_of(now - self._started)
        self._again = now + wait
        return f"{self.name} ended with {_in_words(status)}; starting again in {wait:.0f} s (see {self.log})"

    def ask_to_stop(self) -> None:
        """Ask, without waiting."""
        if self._process is not None:
            self._process.terminate()

    def stop(self, seconds: float) -> None:
        """Ask it to end; make it end when it does not."""
        if self._process is None:
            return
        self.ask_to_stop()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def last_words(self, lines: int = 8) -> str:
        """The end of its log."""
        with contextlib.suppress(OSError):
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 8192))
                tail = log.read().decode("utf-8", "replace").splitlines()[-lines:]
            return "\n".join(f"  {line}" for line in tail)
        return ""


def _die_with_parent() -> None:
    """In the child, before the program: TERM when the parent goes, however it goes. Linux only."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


_LIBC = ctypes.CDLL(None)  # looked up before any fork


def _keep_small(log: Path) -> None:
    """One older log is kept."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


def _in_words(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
