"""Measures HTTP requests. It is imported only if there is an HTTP target: `http.client` and `ssl` take 6 MB."""

import base64
import contextlib
import http.client
import socket
import ssl
import time
from urllib.parse import SplitResult, unquote

from flyball_agent.probes.round_trip import RequestFailed, RoundTrip

BODY_BYTES = 65536
"""Maximum number of bytes read from a response: the round trip is measured, not the download."""


class HttpRoundTrip:
    """GET requests to one URL, each on a new connection: connecting shows the network, the answer the service.

    A TLS session is resumed, so that a connection costs neither side a signature.
    """

    def __init__(self, url: SplitResult, host: str, port: int, timeout_seconds: float) -> None:
        self._url = url
        self._host = host
        self._port = port
        self._timeout_seconds = timeout_seconds
        self._context: ssl.SSLContext | None = None
        self._session: ssl.SSLSession | None = None
        self.connect_seconds: float | None = None

    def measure(self) -> RoundTrip:
        """Return the times of one round trip. Raise OSError or RequestFailed on failure."""
        self.connect_seconds = None
        started = time.perf_counter()
        try:
            with contextlib.closing(self._connect()) as connection:
                self.connect_seconds = time.perf_counter() - started
                return self._send(connection, self.connect_seconds)
        except ssl.SSLError as error:
            raise RequestFailed(f"TLS: {getattr(error, 'reason', None) or type(error).__name__}") from None
        except http.client.HTTPException as error:
            raise RequestFailed(str(error)[:100] or type(error).__name__) from None

    def _connect(self) -> http.client.HTTPConnection:
        """Look up the name, connect, and agree on TLS."""
        if self._url.scheme != "https":
            plain = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_seconds)
            plain.connect()
            return plain
        self._context = self._context or ssl.create_default_context()
        secure = http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout_seconds, context=self._context
        )
        bare = socket.create_connection((self._host, self._port), self._timeout_seconds)
        try:
            bare.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secure.sock = self._context.wrap_socket(bare, server_hostname=self._host, session=self._session)
        except BaseException:
            bare.close()
            raise
        return secure

    def _send(self, connection: http.client.HTTPConnection, connect_seconds: float) -> RoundTrip:
        url = self._url
        started = time.perf_counter()
        connection.request("GET", f"{url.path or '/'}{'?' + url.query if url.query else ''}", headers=headers(url))
        with connection.getresponse() as response:
            answer_seconds = time.perf_counter() - started
            response.read(BODY_BYTES)
            seconds = time.perf_counter() - started
            if isinstance(connection.sock, ssl.SSLSocket):
                self._session = connection.sock.session
            if response.status >= 500:
                raise RequestFailed(f"HTTP {response.status}")
        return RoundTrip(seconds, connect_seconds, answer_seconds)


def headers(url: SplitResult) -> dict[str, str]:
    """Return the request headers. A user name in the URL becomes basic authentication."""
    found = {"User-Agent": "flyball-agent", "Accept": "*/*"}
    if url.username is not None:
        secret = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
        found["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
    return found
