"""`flyball run --max-restarts N`: starts a command again after it has failed, and passes everything else through.

Input, output, signals and the exit status are those of the command, as without this module. The process group is the
same, so that a terminal works as usual.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from flyball.hooks.run_name import option_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ATTEMPT = "FLYBALL_ATTEMPT"
STATE = "FLYBALL_RESTART_STATE"
"""Variables of the command: the number of its start, and a folder for what the next start must know."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals by which people and schedulers end a training. After one of them there is no restart."""

_PASSED_ON = (*STOPPING, signal.SIGUSR1, signal.SIGUSR2)
_SHELL_STATUSES = tuple(128 + number for number in STOPPING)  # of a shell whose command got the signal
_SI_KERNEL = 0x80  # asm-generic/siginfo.h: a terminal sent it, to the whole process group
_PR_SET_PDEATHSIG = 1


def supervise(command: Sequence[str], environment: Mapping[str, str], max_restarts: int) -> int:
    """Run a command until it ends well, is stopped, or has failed once more than it may be restarted.

    Return its exit status. If a signal has ended it, the same signal ends this process. Raise OSError if the command
    cannot be started.
    """
    own = "" if environment.get(STATE) else tempfile.mkdtemp(prefix="flyball-restarts-")
    try:
        state = Path(own or environment[STATE])
        status = _starts(command, {**environment, STATE: str(state)}, max_restarts, state)
    finally:
        if own:
            shutil.rmtree(own, ignore_errors=True)
    if status < 0:
        _end_by(-status)
    return status


def _starts(command: Sequence[str], environment: dict[str, str], max_restarts: int, state: Path) -> int:
    first, stride = _attempts(command, environment)
    supervised = SupervisedCommand(command)
    for restart in range(max_restarts + 1):
        began = time.monotonic()
        size = smallest_size(state)
        status = supervised.run({**environment, ATTEMPT: str(first + restart * stride)})
        if status == 0 or supervised.was_stopped or is_stop(status):
            return status
        text = f"flyball: the command ended with {_status_text(status)} after {time.monotonic() - began:.0f} s; "
        text += f"restart {restart + 1} of {max_restarts}" if restart < max_restarts else "no restart is left"
        after = smallest_size(state)
        if after is not None and after != size:
            text += f"; it ran out of memory, so the micro-batch begins at {after}"
        print(text, file=sys.stderr, flush=True)
    return status


class SupervisedCommand:
    """A command whose signals come to this process first."""

    def __init__(self, command: Sequence[str]) -> None:
        self.was_stopped = False
        self._command = list(command)
        self._passed_on = [number for number in _PASSED_ON if signal.getsignal(number) != signal.SIG_IGN]

    def run(self, environment: Mapping[str, str]) -> int:
        """Run it to its end. Return its status; negative for the signal that ended it."""
        watched = [*self._passed_on, signal.SIGCHLD]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
        try:
            sys.stdout.flush()
            process = subprocess.Popen(self._command, env=environment, preexec_fn=_prepare_child(before))  # noqa: PLW1509  this process has no threads
            while (status := process.poll()) is None:
                self._pass_on(process, *next_signal(watched))
            return status
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _pass_on(self, process: subprocess.Popen[bytes], number: int, is_from_terminal: bool) -> None:
        if number == signal.SIGCHLD:
            return
        self.was_stopped = self.was_stopped or number in STOPPING
        if not is_from_terminal:
            process.send_signal(number)


def is_stop(status: int) -> bool:
    """Return True for the status of a command that somebody has ended by a signal."""
    return -status in STOPPING or status in _SHELL_STATUSES


def smallest_size(state: Path) -> int | None:
    """Return the smallest micro-batch that a rank has kept for the next start, or None."""
    sizes = []
    for file in sorted(state.glob("*.json")):
        try:
            kept = json.loads(file.read_bytes())
        except (OSError, ValueError):
            continue
        size = kept.get("micro_batch") if isinstance(kept, dict) else None
        if isinstance(size, int):
            sizes.append(size)
    return min(sizes, default=None)


def _attempts(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the number of the first start, and by how much it grows: torchrun counts its own restarts in between."""
    first, inner = environment.get(ATTEMPT, ""), option_of(command, "max-restarts")
    return (
        int(first) if first.isascii() and first.isdecimal() else 0,
        1 + (int(inner) if inner.isascii() and inner.isdecimal() else 0),
    )


def next_signal(watched: Sequence[int]) -> tuple[int, bool]:
    """Wait for a signal. Return it, and True if a terminal sent it to the command as well."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(watched)
        return info.si_signo, info.si_code == _SI_KERNEL
    number = signal.sigwait(watched)  # macOS does not have more
    return number, number in {signal.SIGINT, signal.SIGQUIT} and sys.stdin.isatty()


def _prepare_child(mask: set[signal.Signals] | set[int]) -> Callable[[], None]:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None  # looked up before the fork

    def prepare() -> None:
        """Restore the signals, and end with the parent: the agent must not see a training that nobody supervises."""
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if library is not None:
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    return prepare


def _end_by(number: int) -> None:
    """End this process by a signal, without a second core file."""
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.kill(os.getpid(), number)


def _status_text(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # of real time
        return f"signal {-status}"
