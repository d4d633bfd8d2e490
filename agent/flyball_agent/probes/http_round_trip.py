"""Measures HTTP requests. It is imported only if there is an HTTP target: `http.client` and `ssl` take 6 MB."""

import base64
import contextlib
import http.client
import ssl
import time
from urllib.parse import SplitResult, unquote

from flyball_agent.probes.round_trip import RequestFailed

BODY_BYTES = 65536
"""Maximum number of bytes read from a response: the round trip is measured, not the download."""


class HttpRoundTrip:
    """GET requests to one URL, on a connection that is kept."""

    def __init__(self, url: SplitResult, host: str, port: int, timeout_seconds: float) -> None:
        self._url = url
        self._host = host
        self._port = port
        self._timeout_seconds = timeout_seconds
        self._connection: http.client.HTTPConnection | None = None

    def measure(self) -> float:
        """Return the seconds of one round trip. Raise OSError or RequestFailed on failure."""
        try:
            return self._request()
        except ssl.SSLError as error:
            raise RequestFailed(f"TLS: {getattr(error, 'reason', None) or type(error).__name__}") from None
        except http.client.HTTPException as error:
            raise RequestFailed(str(error)[:100] or type(error).__name__) from None

    def _request(self) -> float:
        if self._connection is not None:
            # If the server has closed the connection, try once more with a new one.
            with contextlib.suppress(http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                return self._send(self._connection)
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(self._host, self._port, timeout=self._timeout_seconds)
        return self._send(self._connection)

    def _send(self, connection: http.client.HTTPConnection) -> float:
        url = self._url
        started = time.perf_counter()
        try:
            connection.request("GET", f"{url.path or '/'}{'?' + url.query if url.query else ''}", headers=headers(url))
            response = connection.getresponse()
            response.read(BODY_BYTES)
            elapsed = time.perf_counter() - started
        except BaseException:
            self.close()
            raise
        if not response.isclosed():  # the rest of a long response stays unread, so the connection cannot be reused
            self.close()
        if response.status >= 500:
            raise RequestFailed(f"HTTP {response.status}")
        return elapsed

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def headers(url: SplitResult) -> dict[str, str]:
    """Return the request headers. A user name in the URL becomes basic authentication."""
    found = {"User-Agent": "flyball-agent", "Accept": "*/*"}
    if url.username is not None:
        secret = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
        found["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
    return found
