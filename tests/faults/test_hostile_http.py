"""Whatever comes over HTTP, the sender gets an error, nothing else is disturbed, and no file is disclosed."""

import contextlib
import http.client
import socket
import time
import urllib.request
from collections.abc import Iterator

import pytest

from tests.processes import Collector, wait_for
from tests.raw_agent import RawAgent

pytestmark = pytest.mark.faults

PATHS = (
    "/../../../etc/passwd",
    "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/page/../../../../etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/api/v1/hosts/..%2f..%2f..%2fetc%2fpasswd",
    "/api/v1/hosts/%00",
    "/api/v1/hosts/%ff%fe",
    "/api/v1/hosts/%0d%0aSet-Cookie:%20a=b",
    "/api/v1/hosts/" + "x" * 8000,
    "/api/v1/hosts?limit=1e999",
    "/api/v1/hosts?limit=-1&offset=99999999999999999999",
    "/api/v1/hosts?sort=__class__",
    "/api/v1/hosts/well-behaved/series?metric=test_number_total&start=nan",
    "/api/v1/hosts/well-behaved/series?metric=test_number_total&start=-99999999999w",
    "/api/v1/hosts/well-behaved/series?metric=test_number_total&start=9999999999999999",
    "/api/v1/hosts/well-behaved/series?" + "&".join("metric=a" for _ in range(500)),
    "/metrics?target=%22%7D%0a",
)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One collector for all, with a host; at the end it must be healthy, small, and its log free of tracebacks."""
    with Collector(tmp_path_factory.mktemp("collector"), {"not_reporting_after_seconds": 2}) as process:
        process.start_ready()
        with RawAgent(process.grpc_port, "well-behaved").open() as agent:
            agent.send_records(range(10))
            wait_for("the host is there", lambda: process.get("/api/v1/hosts")["total"] == 1)
            yield process
        assert process.alive()
        assert "Traceback" not in process.log.read_text()


@pytest.fixture(autouse=True)
def _undisturbed(collector: Collector) -> Iterator[None]:
    """Honest requests are answered afterwards as before, and memory has not grown."""
    before = collector.resident_bytes()
    yield
    assert collector.get("/api/v1/hosts")["total"] == 1
    assert collector.resident_bytes() - before < 50e6


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:60])
def test_paths_that_are_tricks_get_a_clear_error(collector: Collector, path: str) -> None:
    """A 4xx status, JSON with the reason, and never a file."""
    status, body = _ask(collector, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert 400 <= status < 500, (status, body[:300])
    assert b"root:" not in body
    assert b"Traceback" not in body


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(20_000)) + b"\r\n",
        b"GET " + b"/" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b'POST /api/v1/hosts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"a": [[[',
        b"DELETE /api/v1/hosts/well-behaved HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"BREW /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        bytes(range(256)) * 100,
    ],
    ids=lambda sent: repr(sent[:40]),
)
def test_requests_that_are_none_are_refused(collector: Collector, request_bytes: bytes) -> None:
    """A 4xx status or a closed connection."""
    status, body = _ask(collector, request_bytes)
    assert status == 0 or 400 <= status < 500, (status, body[:300])


def test_slow_senders_keep_nobody_out(collector: Collector) -> None:
    """With 1,000 half requests that get a byte now and then, honest requests are answered at once."""
    slow = [socket.create_connection(("127.0.0.1", collector.http_port), 5) for _ in range(1000)]
    try:
        for _ in range(3):
            _drip(slow)
            assert collector.get("/api/v1/hosts")["total"] == 1
            for path in ("/healthz", "/readyz", "/metrics"):
                # the best of several: the machine may be busy with other things
                assert any(_seconds(collector, path) < 0.2 for _ in range(30)), path
        wait_for("the last one is let go", lambda: not _drip(slow[-1:]), seconds=60, pause_seconds=0.5)
    finally:
        for end in slow:
            end.close()


def test_a_refused_agent_is_listed(collector: Collector) -> None:
    """The collector's list has an agent with an invalid name, its address and the reason."""
    with RawAgent(collector.grpc_port, "no such name!").open():
        (refused,) = wait_for("it is refused", lambda: collector.get("/api/v1/refused-agents"))
    assert refused["host"] == "no such name!"
    assert refused["address"].startswith("127.0.0.1")
    assert refused["reason"]


def _drip(ends: list[socket.socket]) -> int:
    """Send a byte on each connection; return how many are still open."""
    sent = 0
    for end in ends:
        with contextlib.suppress(OSError):
            sent += end.send(b"G")
    return sent


def _seconds(collector: Collector, path: str) -> float:
    """Return the time until a path is answered with status 200."""
    begun = time.perf_counter()
    with urllib.request.urlopen(collector.url + path, timeout=30) as answer:
        assert answer.status == 200
        answer.read()
    return time.perf_counter() - begun


def _ask(collector: Collector, request: bytes) -> tuple[int, bytes]:
    """Status and body; 0 when the connection was closed without an answer."""
    with socket.create_connection(("127.0.0.1", collector.http_port), 60) as end:
        with contextlib.suppress(OSError):  # closed before everything was sent
            end.sendall(request)
        try:
            response = http.client.HTTPResponse(end)
            response.begin()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
