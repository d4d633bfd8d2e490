"""Tests of round trips with real sockets."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.http_round_trip import headers
from flyball_agent.probes.latency import build_trip
from flyball_agent.probes.round_trip import BadTarget, Loopback, RequestFailed, parse_target
from flyball_collector.security.certs import Authority, Part

DELAY_SECONDS = 0.05


class Service(ThreadingHTTPServer):
    """A small API that records its requests. `/slow` is slow, `/bad` fails, `/close` closes the connection."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str | None]] = []
        self.connections: set[object] = set()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that close the connection."""

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Handles the requests to `Service`."""

    protocol_version = "HTTP/1.1"
    server: Service

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.server.connections.add(self.client_address)
        if self.path.startswith("/slow"):
            time.sleep(DELAY_SECONDS)
        body = b"x" * (200_000 if self.path.startswith("/large") else 2)
        self.send_response(503 if self.path.startswith("/bad") else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.path.startswith("/close")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name in the base class
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    """Run the API on loopback."""
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_byte_goes_over_loopback_and_back() -> None:
    """Loopback takes less than a tenth of a second, repeatedly over one connection. A busy machine delays some."""
    loopback = Loopback()
    seconds = sorted(loopback.measure() for _ in range(100))
    assert 0 < seconds[0] <= seconds[50] < 0.1
    loopback.close()
    assert loopback.measure() > 0
    loopback.close()


def test_connects_to_a_tcp_target() -> None:
    """A round trip to host:port opens and closes a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        trip = build_trip(parse_target(f"127.0.0.1:{server.getsockname()[1]}"), 1)
        assert 0 < trip.measure().seconds < 5
        server.accept()[0].close()


def test_a_closed_port_is_an_error() -> None:
    """A refused connection raises its error."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        build_trip(parse_target(f"127.0.0.1:{port}"), 1).measure()


def test_an_unresponsive_service_times_out() -> None:
    """A server that accepts a connection but never responds times out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        trip = build_trip(parse_target(f"http://127.0.0.1:{server.getsockname()[1]}/"), 0.05)
        with pytest.raises(TimeoutError):
            trip.measure()


def test_each_request_has_a_connection_of_its_own(service: Service) -> None:
    """Any status below 500 counts, the query is sent, and the time to connect does not contain a slow answer."""
    trip = build_trip(parse_target(f"http://{service.url}/slow?key=1"), 5)
    found = [trip.measure() for _ in range(3)]
    assert service.asked == [("/slow?key=1", None)] * 3
    assert len(service.connections) == 3
    for each in found:
        assert each.connect_seconds is not None
        assert each.answer_seconds is not None
        assert DELAY_SECONDS <= each.answer_seconds <= each.seconds < 5
        assert each.total_seconds == each.seconds + each.connect_seconds
    assert min(each.connect_seconds or 0 for each in found) < DELAY_SECONDS / 2


@pytest.mark.parametrize("path", ["/close", "/large"])
def test_the_end_of_a_response_does_not_matter(service: Service, path: str) -> None:
    """The server may close the connection, and the rest of a long response stays unread."""
    trip = build_trip(parse_target(f"http://{service.url}{path}"), 5)
    assert all(trip.measure().seconds > 0 for _ in range(3))


def test_the_connection_is_known_while_the_answer_is_late(service: Service) -> None:
    """The network to a service that hangs is quick."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        trip = build_trip(parse_target(f"http://127.0.0.1:{server.getsockname()[1]}/"), 0.3)
        with pytest.raises(TimeoutError):
            trip.measure()
    assert 0 < (trip.connect_seconds or 0) < 0.3
    failing = build_trip(parse_target(f"http://{service.url}/bad"), 5)
    with pytest.raises(RequestFailed):
        failing.measure()
    assert failing.connect_seconds is not None


def test_a_service_without_tls_is_an_error(service: Service) -> None:
    """An https target that does not speak TLS is an error that names TLS."""
    trip = build_trip(parse_target(f"https://{service.url}/"), 5)
    with pytest.raises(RequestFailed, match="TLS: "):
        trip.measure()


def test_tls_belongs_to_connecting_and_its_session_is_resumed(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later connections need no new signature from the service."""
    authority = Authority(tmp_path / "certs")
    authority.initialise()
    issued = authority.issue("service", Part.COLLECTOR)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate_file, issued.key_file)
    service.socket = context.wrap_socket(service.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
    trip = build_trip(parse_target(f"https://localhost:{service.server_address[1]}/slow"), 5)
    found = [trip.measure() for _ in range(3)]
    assert all(0 < (each.connect_seconds or 0) < 5 and (each.answer_seconds or 0) >= DELAY_SECONDS for each in found)
    stats = context.session_stats()
    assert (stats["accept_good"], stats["hits"]) == (3, 2)


def test_a_failing_service_is_an_error(service: Service) -> None:
    """Status 503 is an error."""
    trip = build_trip(parse_target(f"http://{service.url}/bad"), 5)
    with pytest.raises(RequestFailed, match="503"):
        trip.measure()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("db.example:27017", "db.example:27017"),
        ("[::1]:80", "[::1]:80"),
        ("http://api.example", "http://api.example/"),
        ("https://me:secret@api.example:8443/health?token=abc#x", "https://api.example:8443/health"),
    ],
)
def test_labels_contain_no_secrets(text: str, label: str) -> None:
    """User name, password and query are not part of the label."""
    assert parse_target(text).label == label


def test_a_user_in_the_url_authenticates() -> None:
    """User name and password of the URL, unescaped, become basic authentication."""
    target = parse_target("http://me:p%40ss@api.example/")
    assert target.url is not None
    assert headers(target.url)["Authorization"] == "Basic bWU6cEBzcw=="


@pytest.mark.parametrize(
    "text", ["", "api.example", "api.example:port", "ftp://api.example", "host:99999", "http://", ":80"]
)
def test_a_bad_target_is_quoted(text: str) -> None:
    """The message contains the setting and what is expected."""
    with pytest.raises(BadTarget, match="latency target"):
        parse_target(text)


@given(st.text(max_size=40))
def test_no_text_crashes_the_parser(text: str) -> None:
    """Any text gives a target or `BadTarget`."""
    for candidate in (text, f"http://{text}", f"{text}:80"):
        try:
            assert parse_target(candidate).host
        except BadTarget as error:
            assert "latency target" in str(error)  # noqa: PT017  either outcome is right
