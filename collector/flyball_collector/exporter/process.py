"""Rendering in a process of its own: a large fleet's page would keep the event loop from the interpreter."""

import pickle
import subprocess
import sys
import threading
from contextlib import suppress

from flyball_collector.exporter.pages import Page, PageOrder
from flyball_collector.exporter.parcel import Packer

LIMIT_SECONDS = 60.0
"""A page of 350,000 series takes some seconds the first time, on a busy machine too; what takes longer hangs."""

_MODULE = "flyball_collector.exporter.worker"


class RendererGoneError(Exception):
    """The process ended before the page was whole; the message says how."""


class RenderingProcess:
    """Started when it is first needed, and again after it was lost. One thread at a time."""

    def __init__(self, vanish_after_seconds: float, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._command = [sys.executable, "-P", "-m", _MODULE, str(vanish_after_seconds)]
        self.limit_seconds = limit_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._packer = Packer()

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return self._process.pid if self._process is not None else None

    def render(self, order: PageOrder) -> Page:
        """A page; blocks until it is made. Raises `RendererGoneError`."""
        try:
            process = self._process or self._start()
        except OSError as error:
            raise RendererGoneError(f"cannot be started: {error}") from None
        watchdog = threading.Timer(self.limit_seconds, process.kill)
        watchdog.start()
        try:
            return self._exchange(process, order)
        except (OSError, EOFError, pickle.PickleError):
            self.close()
            raise RendererGoneError(f"ended with status {process.returncode}") from None
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """End it; the next page starts another one."""
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
        self._packer = Packer()
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], order: PageOrder) -> Page:
        if process.stdin is None or process.stdout is None:
            raise EOFError
        pickle.dump(self._packer.pack(order), process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        page = pickle.load(process.stdout)  # noqa: S301  it comes from the process that was started here
        if not isinstance(page, Page):
            raise EOFError
        return page
