"""A worker process for work that would block the event loop: one request, one answer.

Requests reach it by its standard input, answers by its output, both pickled: neither leaves this machine. It ends when
its input does.
"""

import gc
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class WorkerLostError(Exception):
    """The process ended before its answer was complete. The message has the reason."""


class WorkerProcess:
    """Starts a process when it is first needed, and again after it was lost. Only one thread may use it at a time."""

    def __init__(self, module: str, *arguments: str, limit_seconds: float) -> None:
        """Create the worker. `module` calls `serve`. An answer that takes longer than the limit kills the process."""
        self.command = [sys.executable, "-P", "-m", module, *arguments]
        self.limit_seconds = limit_seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Return the id of the process, or `None`."""
        return self._process.pid if self._process is not None else None

    def ask(self, request: object) -> Any:
        """Return the answer to a request. Blocks. Raises `WorkerLostError`; the next request starts a new process."""
        try:
            process = self._process or self._start()
        except OSError as error:
            raise WorkerLostError(f"cannot start: {error}") from None
        watchdog = threading.Timer(self.limit_seconds, process.kill)
        watchdog.start()
        try:
            return _exchange(process, request)
        except (OSError, EOFError, pickle.PickleError):
            self.close()
            raise WorkerLostError(f"ended with status {process.returncode}") from None
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """End the process. The next request starts a new one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # its unsent data are dropped
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process


def _exchange(process: subprocess.Popen[bytes], request: object) -> Any:
    if process.stdin is None or process.stdout is None:
        raise EOFError
    pickle.dump(request, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()
    return pickle.load(process.stdout)  # noqa: S301  it comes from the process that was started here


def serve(answer: Callable[[Any], object]) -> None:
    """Run the worker process: answer each request until the input ends."""
    for each in (signal.SIGINT, signal.SIGTERM):  # a terminal and systemd also send them to this process, but its
        signal.signal(each, signal.SIG_IGN)  # owner still has requests while it stops; then the input ends
    gc.disable()
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            request = pickle.load(requests)  # noqa: S301  it comes from the process that started this one
        except EOFError:
            return
        pickle.dump(answer(request), answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
        gc.collect(1)  # of garbage of this answer; long-lived objects are not visited
