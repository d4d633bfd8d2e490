"""A listening socket that counts its connections from the moment they are accepted, before TLS and HTTP.

asyncio calls `accept` of the listening socket and `close` of each connection, so nothing else has to keep count.
"""

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from flyball_collector.http.connection_limits import Admission, ConnectionLimits

_MAX_REFUSED = 64
"""Maximum number of connections refused in one call. Then the event loop serves others before it accepts again."""
_REASON = b"too many requests are in progress; try again later\n"
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_REASON), _REASON)
)


class _Connection(socket.socket):
    """A connection that reports its end once."""

    closed: Callable[[], None] | None = None

    def close(self) -> None:
        self.report()
        super().close()

    def detach(self) -> int:
        self.report()
        return super().detach()

    def report(self) -> None:
        """Report the end, unless that was done before."""
        closed, self.closed = self.closed, None
        if closed is not None:
            closed()


class LimitedListener(socket.socket):
    """Accepts connections within limits. The others get status 503, or on a TLS port are closed without an answer."""

    limits: ConnectionLimits
    uses_tls: bool = False

    def limit(self, limits: ConnectionLimits, *, uses_tls: bool) -> None:
        """Set the limits, before the first connection is accepted."""
        self.limits = limits
        self.uses_tls = uses_tls
        self._admissions: dict[int, Admission] = {}

    def admission(self, descriptor: int) -> Admission | None:
        """Return the admission of an open connection by its descriptor."""
        return self._admissions.get(descriptor)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection within the limits, as `socket.accept` does."""
        for _ in range(_MAX_REFUSED):
            accepted, address = super().accept()
            connection = _Connection(fileno=accepted.detach())
            connection.setblocking(False)
            admission = self.limits.admit(str(address[0]), partial(self._end, connection))
            if admission is not None:
                self._admissions[connection.fileno()] = admission
                connection.closed = partial(self._forget, connection.fileno())
                return connection, address
            self._refuse(connection)
        raise BlockingIOError

    def _end(self, connection: _Connection) -> None:
        """Shut a connection down, so that its transport reads the end and closes it. It no longer counts."""
        connection.report()
        with contextlib.suppress(OSError):  # the client has closed it
            connection.shutdown(socket.SHUT_RDWR)

    def _forget(self, descriptor: int) -> None:
        self.limits.release(self._admissions.pop(descriptor))

    def _refuse(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if not self.uses_tls:
                connection.send(_REFUSAL)
            connection.shutdown(socket.SHUT_WR)
