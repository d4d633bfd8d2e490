"""The targets of round trips, and the round trips without HTTP: a byte over loopback, a TCP connection."""

import socket
import time
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit


class BadTarget(ValueError):
    """A target that is neither host:port nor an http(s) URL."""


class RequestFailed(Exception):
    """An HTTP request failed; the text is the reason, and is the same for each attempt."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The times of one round trip in seconds. An HTTP request has two parts: to connect, and to answer."""

    seconds: float  # a TCP connect, or a GET request with its response
    connect_seconds: float | None = None  # name lookup, TCP and TLS
    answer_seconds: float | None = None  # from the request to the head of the response

    @property
    def total_seconds(self) -> float:
        """The time of the whole, with the connection of an HTTP request."""
        return self.seconds + (self.connect_seconds or 0.0)


@dataclass(frozen=True, slots=True)
class LatencyTarget:
    """The target of a round trip. `label` is its name in the metric, without user name, password and query."""

    label: str
    host: str
    port: int
    url: SplitResult | None = None


def parse_target(text: str) -> LatencyTarget:
    """Parse `host:port` or an http(s) URL from the settings."""
    try:
        parts = urlsplit(text if "://" in text else f"tcp://{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadTarget(f"latency target {text!r}: {error}") from None
    shown = f"[{host}]" if host and ":" in host else host
    if parts.scheme == "tcp" and host and port and not parts.path:
        return LatencyTarget(f"{shown}:{port}", host, port)
    if parts.scheme in {"http", "https"} and host:
        place = f"{shown}:{port}" if port else shown
        default = 443 if parts.scheme == "https" else 80
        return LatencyTarget(f"{parts.scheme}://{place}{parts.path or '/'}", host, port or default, parts)
    raise BadTarget(f"latency target {text!r}: expected host:port, http://… or https://…")


class Loopback:
    """A TCP connection of the host to itself, which stays open."""

    def __init__(self, timeout_seconds: float = 0.1) -> None:
        self._timeout_seconds = timeout_seconds
        self._ends: tuple[socket.socket, socket.socket] | None = None

    def measure(self) -> float:
        """Return the seconds that one byte takes there and back. Raise OSError on failure."""
        try:
            near, far = self._ends = self._ends or self._connect()
            started = time.perf_counter()
            near.send(b"?")
            far.send(far.recv(1))
            response = near.recv(1)
            elapsed = time.perf_counter() - started
        except OSError:
            self.close()
            raise
        if response != b"?":
            self.close()
            raise ConnectionResetError("the loopback connection was closed")
        return elapsed

    def _connect(self) -> tuple[socket.socket, socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            near = socket.create_connection(server.getsockname(), self._timeout_seconds)
            while True:  # another process on this host may have connected first
                far, address = server.accept()
                if address == near.getsockname():
                    break
                far.close()
        for end in (near, far):
            end.settimeout(self._timeout_seconds)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return near, far

    def close(self) -> None:
        for end in self._ends or ():
            end.close()
        self._ends = None

    def __del__(self) -> None:
        self.close()


class TcpRoundTrip:
    """Opens and closes a new TCP connection each time."""

    def __init__(self, target: LatencyTarget, timeout_seconds: float) -> None:
        self._target = target
        self._timeout_seconds = timeout_seconds
        self.connect_seconds: float | None = None  # it does nothing but connect

    def measure(self) -> RoundTrip:
        """Return the time of one round trip. Raise OSError on failure."""
        started = time.perf_counter()
        with socket.create_connection((self._target.host, self._target.port), self._timeout_seconds):
            return RoundTrip(time.perf_counter() - started)
