"""The HTTP/1.1 protocol of one connection: uvicorn's, with time limits for both directions and with admission."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import h11
from litestar.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from flyball_collector.http.errors import Fault
from flyball_collector.http.limited_listener import LimitedListener
from flyball_collector.http.request_target import refuse

if TYPE_CHECKING:
    from flyball_collector.http.connection_limits import Admission

CHECK_PATHS = frozenset({"/healthz", "/readyz", "/metrics", "/metrics/collector", "/sd"})
"""Paths that are served on reserved connections: health checks and scrapes."""
_COMPLETE = frozenset({h11.DONE, h11.MUST_CLOSE, h11.CLOSED, h11.ERROR})
_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class _TimeLimit:
    """Calls an action unless it is cancelled in time. Starting it again does not extend it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, action: Callable[[], None]) -> None:
        self._loop = loop
        self._seconds = seconds
        self._action = action
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._action)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None


class TimedProtocol(H11Protocol):
    """Ends connections whose request stays incomplete or whose client stops reading. uvicorn would wait forever."""

    def __init__(
        self,
        *arguments: Any,
        listener: LimitedListener,
        refused: Callable[[str], None],
        request_seconds: float,
        read_seconds: float,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._listener = listener
        self._refused = refused
        self._admission: Admission | None = None
        self._incomplete = _TimeLimit(self.loop, request_seconds, self._end_incomplete)
        self._unread = _TimeLimit(self.loop, read_seconds, self._end_unread)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        self._admission = self._listener.admission(connection.fileno()) if connection is not None else None
        if self._admission is not None and self._admission.reserved:
            self.app = _only_checks(self.app)
        self._incomplete.start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._incomplete.cancel()
        self._unread.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._note_state()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_state()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.start()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid data. If it follows a request that is being answered, end that answer: two would mix."""
        cycle = self._current_cycle()
        if cycle is None or cycle.response_complete:
            super().send_400_response(msg)
            return
        cycle.disconnected = True
        if cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _note_state(self) -> None:
        """Start or cancel the time limit of a request, and update the busy state of the connection."""
        cycle = self._current_cycle()
        answered = cycle is None or cycle.response_complete
        complete = self.conn.their_state in _COMPLETE
        if self._admission is not None:
            self._listener.limits.set_busy(self._admission, busy=complete and not answered)
        if complete or (answered and cycle is not None and self._is_between_requests()):
            self._incomplete.cancel()
        elif not self.transport.is_closing():
            self._incomplete.start()

    def _is_between_requests(self) -> bool:
        """Return True if no byte of the next request has arrived. Then uvicorn's limit for idle connections applies."""
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _end_incomplete(self) -> None:
        cycle = self._current_cycle()
        if self.transport.is_closing():
            return
        self._refused("incomplete")
        if self.conn.trailing_data[0] and (cycle is None or cycle.response_complete):
            self.transport.write(_TIMEOUT)
        self.transport.close()

    def _end_unread(self) -> None:
        self._refused("unread")
        self.transport.abort()

    def _current_cycle(self) -> RequestResponseCycle | None:
        return cast("RequestResponseCycle | None", self.cycle)  # uvicorn's type does not allow None


def _only_checks(application: ASGIApp) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in CHECK_PATHS:
            await application(scope, receive, send)
        else:
            fault = Fault("busy", "too many requests are in progress", "try again later")
            await refuse(send, 503, fault, ((b"retry-after", b"5"),))

    return answer
