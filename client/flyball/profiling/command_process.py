"""Runs a command as if it ran alone: its input, output, signals and exit status pass through.

Linux only. All signals that may be meant for the command are blocked here and received one by one, so that a signal
never interrupts Python code.
"""

import contextlib
import ctypes
import errno
import os
import resource
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence

from flyball.profiling.own_peak import own_peak_bytes
from flyball.profiling.process_reading import ConsumedResources, read_process, read_stat

FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)

NOT_FOUND, NOT_EXECUTABLE, BY_SIGNAL = 127, 126, 128
"""Exit statuses as in the shell (POSIX, Shell Command Language, 2.8.2)."""

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_CHANGED_BY_PYTHON = tuple(
    getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ") if hasattr(signal, name)
)  # Python ignores them; a command must not inherit that


class NotStarted(Exception):
    """A command that cannot be started; `status` is the exit status that a shell would return."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class CommandProcess:
    """One command, from its start to its end. Processes that it leaves behind become children of this process."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._mask: set[signal.Signals | int] = set()
        self._lock = threading.Lock()
        self._waited = ConsumedResources()
        self._peak_bytes = 0
        self._own_peak_bytes = 0

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Block the signals. Threads that start inside do not receive them either."""
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # inherited; the kernel would discard the exit status
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, {*FORWARDED, signal.SIGCHLD}))
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def run(self) -> int:
        """Start the command, wait until it has ended, and return its exit status. Call it inside of `signals`."""
        _adopt_orphans()
        self._own_peak_bytes = own_peak_bytes()
        return self._wait(self._started())

    def waited(self) -> ConsumedResources:
        """Return what children that have ended had used, since the last call."""
        with self._lock:
            found, self._waited = self._waited, ConsumedResources()
        return found

    def peaks(self) -> tuple[float, ...]:
        """Return the largest resident memory of a process of the command that has ended; 0 if it is not known.

        The kernel counts what the process was before it became the command: this process. So a peak below our own is
        not one of the command.
        """
        return (float(self._peak_bytes),)

    def _started(self) -> int:
        try:
            return self._spawn(self._command)
        except FileNotFoundError:
            raise NotStarted(f"there is no program {self._command[0]}", NOT_FOUND) from None
        except PermissionError:
            raise NotStarted(f"{self._command[0]} is not executable", NOT_EXECUTABLE) from None
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                reason = error.strerror or str(error)
                raise NotStarted(f"cannot start {self._command[0]}: {reason}", NOT_EXECUTABLE) from None
        script = shutil.which(self._command[0]) or self._command[0]
        return self._spawn(["/bin/sh", script, *self._command[1:]])  # a script without #!, as shells do

    def _spawn(self, command: list[str]) -> int:
        return os.posix_spawnp(
            command[0], command, os.environ, setsigmask=self._mask, setsigdef=set(_CHANGED_BY_PYTHON)
        )

    def _wait(self, pid: int) -> int:
        watched = {*FORWARDED, signal.SIGCHLD}
        while True:
            received = signal.sigwaitinfo(watched)
            if received.si_signo == signal.SIGCHLD:
                status = self._reap(pid)
                if status is not None:
                    return status
            elif received.si_code <= 0:  # sent by a process; the terminal sends its signals to the command itself
                with contextlib.suppress(PermissionError):  # of another user
                    os.kill(pid, received.si_signo)  # if it has ended, nobody has waited for it: the id is its own

    def _reap(self, main: int) -> int | None:
        """Take all children that have ended, after a last look at what they used. Return the command's status."""
        status = None
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return status
            if ended is None:
                return status
            used = _last_use(ended.si_pid)
            with self._lock:
                _, wait_status, usage = os.wait4(ended.si_pid, 0)
                used = used._replace(cpu_seconds=usage.ru_utime + usage.ru_stime)
                self._waited = self._waited.plus(used)
            if _peak(usage) > self._own_peak_bytes:
                self._peak_bytes = max(self._peak_bytes, _peak(usage))
            if ended.si_pid == main:
                code = os.waitstatus_to_exitcode(wait_status)
                status = code if code >= 0 else BY_SIGNAL - code


def _last_use(pid: int) -> ConsumedResources:
    """Return the sums of a child that has ended and was not waited for yet."""
    stat = read_stat("/proc", pid)
    reading = read_process("/proc", pid, stat) if stat is not None else None
    return ConsumedResources() if reading is None else reading.consumed


def _peak(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss * 1024


def _adopt_orphans() -> None:
    """Ask the kernel to make orphans children of this process, so that they are found and counted."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
