"""A process of its own for work that would keep the event loop from the interpreter: one question, one answer.

Questions come to it by its standard input, answers go by its output, both pickled: neither leaves this machine. It
ends when its input does.
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


class GoneError(Exception):
    """The process ended before its answer was whole; the message says how."""


class WorkerProcess:
    """Started when it is first needed, and again after it was lost. One thread at a time."""

    def __init__(self, module: str, *arguments: str, limit_seconds: float) -> None:
        """`module` calls `serve`; what takes longer than the limit hangs."""
        self.command = [sys.executable, "-P", "-m", module, *arguments]
        self.limit_seconds = limit_seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return self._process.pid if self._process is not None else None

    def ask(self, question: object) -> Any:
        """The answer; blocks until it is there. Raises `GoneError`, and the next question starts another one."""
        try:
            process = self._process or self._start()
        except OSError as error:
            raise GoneError(f"cannot be started: {error}") from None
        watchdog = threading.Timer(self.limit_seconds, process.kill)
        watchdog.start()
        try:
            return _exchange(process, question)
        except (OSError, EOFError, pickle.PickleError):
            self.close()
            raise GoneError(f"ended with status {process.returncode}") from None
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """End it; the next question starts another one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what waits in it reaches nobody
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process


def _exchange(process: subprocess.Popen[bytes], question: object) -> Any:
    if process.stdin is None or process.stdout is None:
        raise EOFError
    pickle.dump(question, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()
    return pickle.load(process.stdout)  # noqa: S301  it comes from the process that was started here


def serve(answer: Callable[[Any], object]) -> None:
    """What such a process does: one answer for each question, until there are no more."""
    for each in (signal.SIGINT, signal.SIGTERM):  # a terminal and systemd send them to this process too, but whoever
        signal.signal(each, signal.SIG_IGN)  # asks still has questions while it stops; then the input ends
    gc.disable()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            question = pickle.load(questions)  # noqa: S301  it comes from the process that started this one
        except EOFError:
            return
        pickle.dump(answer(question), answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
        gc.collect(1)  # of what this answer left; what is kept by the hundred thousand needs no looking through
