"""An event loop that lets agents' messages gather for some milliseconds, and takes them in one go.

gRPC wakes the loop for each message. At some thousand a second, waking costs more than the work: threads and caches
change hands each time. What is not gRPC's (HTTP, timers, threads that are done) is served at once.

gRPC hands over one new stream a turn of the loop, and looks for the next one only then. So there are no pauses while
streams come: a fleet that returns would otherwise be let in by twenty a second.
"""

import asyncio
import fcntl
import select
import selectors
import struct
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

PAUSE_SECONDS = 0.02
HURRY_SECONDS = 0.25  # after a new stream: others may come
_COUNT = struct.Struct("i")

Ready = list[tuple[selectors.SelectorKey, int]]


def new_event_loop() -> asyncio.AbstractEventLoop:
    """For `asyncio.Runner`."""
    return PatientEventLoop()


def hurry() -> None:
    """Another stream has come; there may be more. Does nothing in a loop without patience."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, PatientEventLoop):
        loop.patient.hurry()


class PatientSelector(selectors.EpollSelector):
    """Having taken gRPC's messages, it does not look for more before the pause is over."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.pause_seconds = pause_seconds
        self._clock = clock
        self._others = select.epoll()  # watches everything but gRPC's messages
        self._messages: set[int] = set()
        self._until = 0.0  # the pause
        self._hurried = 0.0  # until then there is none

    @property
    def watched(self) -> int:
        """How many files bring gRPC's messages."""
        return len(self._messages)

    def hurry(self, seconds: float = HURRY_SECONDS) -> None:
        """Make no pause for so long."""
        self._until, self._hurried = 0.0, self._clock() + seconds

    def register(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file."""
        key = super().register(fileobj, events, data)
        self._watch(key)
        return key

    def modify(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch it for something else."""
        before = self.get_key(fileobj)
        key = super().modify(fileobj, events, data)
        self._forget(before)
        self._watch(key)
        return key

    def unregister(self, fileobj: "FileDescriptorLike") -> selectors.SelectorKey:
        """Watch it no more."""
        key = super().unregister(fileobj)
        self._forget(key)
        return key

    def select(self, timeout: float | None = None) -> Ready:
        """As it must be, and gRPC's entry once for each message that waits."""
        ready = super().select(0 if self._messages else timeout)
        if not ready and self._messages and (timeout is None or timeout > 0):
            ready = super().select(self._rest(timeout))
        many = []
        for key, events in ready:
            if key.fd in self._messages:
                self._pause()
                many += [(key, events)] * (_waiting_bytes(key.fd) - 1)
        return ready + many

    def _pause(self) -> None:
        now = self._clock()
        self._until = now + self.pause_seconds if now >= self._hurried else 0.0

    def _rest(self, timeout: float | None) -> float | None:
        """Let messages gather until the pause is over or something else happens; returns what is left of the time."""
        pause = self._until - self._clock()
        if timeout is not None:
            pause = min(pause, timeout)
        if pause <= 0:
            return timeout
        if self._others.poll(pause, 1):
            return 0
        return None if timeout is None else timeout - pause

    def close(self) -> None:
        """Let go of the kernel's lists."""
        self._others.close()
        super().close()

    def _watch(self, key: selectors.SelectorKey) -> None:
        if _brings_messages(key.data):
            self._messages.add(key.fd)
        else:
            reads = select.EPOLLIN if key.events & selectors.EVENT_READ else 0
            writes = select.EPOLLOUT if key.events & selectors.EVENT_WRITE else 0
            self._others.register(key.fd, reads | writes)

    def _forget(self, key: selectors.SelectorKey) -> None:
        if key.fd in self._messages:
            self._messages.discard(key.fd)
            return
        with suppress(OSError):  # closed before it was unregistered
            self._others.unregister(key.fd)


class PatientEventLoop(asyncio.SelectorEventLoop):
    """A loop with such a selector."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        self.patient = PatientSelector(pause_seconds)
        super().__init__(self.patient)


def _waiting_bytes(fd: int) -> int:
    """gRPC writes a byte a message, and reads one a call."""
    return int(_COUNT.unpack(fcntl.ioctl(fd, termios.FIONREAD, bytes(_COUNT.size)))[0])


def _brings_messages(data: Any) -> bool:
    """Whether it is gRPC that asyncio watches a file for; where this sees nothing, the loop is an ordinary one."""
    callback = getattr(data[0], "_callback", None) if isinstance(data, tuple) else None
    function = callback.func if isinstance(callback, partial) else callback
    return type(getattr(function, "__self__", None)).__module__.startswith("grpc.")
