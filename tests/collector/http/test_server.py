"""The server: limits, shutdown, TLS and malformed requests."""

import asyncio
import http.client
import resource
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from flyball_collector.http.application import build_application
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.server import ListenError, bind, serve, tls_context
from flyball_collector.http.testing import fetch, make_parts, serving
from flyball_collector.settings import HttpSettings
from tests.processes import wait_for


async def _talk(url: str, *, send: bytes, until: bytes = b"") -> bytes:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(send)
        await writer.drain()
        return await asyncio.wait_for(reader.readuntil(until) if until else reader.read(), 60)
    finally:
        writer.close()


async def test_endless_headers_are_rejected() -> None:
    """A request with endless headers gets an error and is closed, not buffered."""
    async with serving(make_parts()) as url:
        flood = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Filler: " + b"x" * 100_000
        assert b" 400 " in (await _talk(url, send=flood)).splitlines()[0]
        assert (await fetch(f"{url}/healthz")).status == 200


async def test_an_idle_connection_is_closed() -> None:
    """A connection without a request is closed after the time limit, and half a request gets status 408."""
    async with serving(make_parts(), request_seconds=0.2) as url:
        assert await _talk(url, send=b"") == b""
        assert b" 408 " in await _talk(url, send=b"GET / HTTP/1.1\r\nHost: loc")


async def test_every_request_of_a_connection_has_the_time_limit() -> None:
    """The second request of a connection, and a body that does not come, end the connection as well."""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"POST /api/v1/hosts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf"
    async with serving(make_parts(), request_seconds=0.2) as url:
        assert b" 408 " in await _talk(url, send=whole + b"GET / HTTP/1.1\r\nHo")
        assert (await _talk(url, send=body)).startswith(b"HTTP/1.1 405 ")


async def test_a_connection_between_requests_stays_open() -> None:
    """The time limit of a request does not end a connection that waits for the next one."""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with serving(make_parts(), request_seconds=0.2) as url:
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        for _ in range(2):
            writer.write(whole)
            assert b" 200 " in await asyncio.wait_for(reader.readuntil(b"}"), 60)
            await asyncio.sleep(0.4)
        writer.close()


async def test_a_client_that_takes_no_answer_is_closed() -> None:
    """An answer that nobody reads is given up after the time limit, and counted."""
    parts = make_parts()
    async with serving(parts, read_seconds=0.2) as url:
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1024)
        page = b"GET /page/plotly.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
        writer.write(page * 20)  # more than the buffers of the kernel hold
        await asyncio.to_thread(wait_for, "the connection is closed", lambda: _closed(parts, "unread"))
        writer.close()
        del reader


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process have both ends of a thousand connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
async def test_half_requests_lock_nobody_out() -> None:
    """With 1,000 half requests of one address, health checks and scrapes are answered, also for this address."""
    parts = make_parts()
    async with serving(parts) as url:
        port = int(urlsplit(url).port or 0)
        slow = [await _half_request(port) for _ in range(1000)]
        for path in ("/healthz", "/readyz", "/metrics", "/api/v1/hosts"):
            for address in ("127.0.0.1", "127.0.0.2"):
                begun = time.perf_counter()
                assert (await asyncio.to_thread(_status, port, path, address)) == 200, (path, address)
                assert time.perf_counter() - begun < 10  # 5 ms on an idle machine
        assert _closed(parts, "address_replaced") >= 1000 - parts.settings.http.connections_per_address
        for _, writer in slow:
            writer.close()


@pytest.mark.usefixtures("many_files")
async def test_many_addresses_lock_nobody_out() -> None:
    """With half requests of many addresses up to the limit of all, a new address is served."""
    async with serving(make_parts()) as url:
        port = int(urlsplit(url).port or 0)
        slow = [await _half_request(port, f"127.0.1.{number % 250 + 1}") for number in range(600)]
        assert await asyncio.to_thread(_status, port, "/api/v1/hosts", "127.0.0.2") == 200
        for _, writer in slow:
            writer.close()


async def test_handshakes_of_tls_count_too(tmp_path: Path) -> None:
    """Connections that never finish the handshake count from their acceptance, and make room for others."""
    parts, certificate = _with_tls(make_parts(), tmp_path)
    async with serving(parts) as url:
        port = int(urlsplit(url).port or 0)
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        trust = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust, server_hostname="localhost")
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"200 OK" in await asyncio.wait_for(reader.read(), 60)
        assert _closed(parts, "address_replaced") >= 200 - parts.settings.http.connections_per_address
        for _, each in [*slow, (reader, writer)]:
            each.close()


async def test_when_all_connections_are_busy_only_checks_are_answered() -> None:
    """With every connection of an address in use, the API answers 503 and a health check 200."""
    parts = make_parts()
    http = msgspec.structs.replace(parts.settings.http, connections_per_address=2)
    parts = replace(parts, settings=msgspec.structs.replace(parts.settings, http=http))
    async with serving(parts) as url:
        port = int(urlsplit(url).port or 0)
        page = b"GET /page/plotly.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
        unread = [await asyncio.open_connection("127.0.0.1", port, limit=1024) for _ in range(2)]
        for _, writer in unread:
            writer.write(page * 20)
        await asyncio.sleep(0.2)
        assert await asyncio.to_thread(_status, port, "/api/v1/hosts", "127.0.0.1") == 503
        assert await asyncio.to_thread(_status, port, "/healthz", "127.0.0.1") == 200
        assert await asyncio.to_thread(_status, port, "/api/v1/hosts", "127.0.0.2") == 200
        for _, writer in unread:
            writer.close()


async def _half_request(port: int, address: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: loc")
    return reader, writer


def _status(port: int, path: str, address: str) -> int:
    """GET a path from an address of this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(address, 0))
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def _closed(parts: CollectorParts, reason: str) -> float:
    """Return the number of connections that were closed for a reason."""
    value = parts.own_metrics.registry.get_sample_value(
        "flyball_collector_http_closed_connections_total", {"reason": reason}
    )
    return value or 0.0


async def test_a_request_body_is_ignored() -> None:
    """A large body for a route without one is left unread, and the answer names the error."""
    async with serving(make_parts()) as url:
        head = b"POST /api/v1/hosts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n"
        answer = await _talk(url, send=head + b"x" * 1000, until=b"}}")
        assert b" 405 " in answer.splitlines()[0]
        assert b"method_not_allowed" in answer


async def test_a_malformed_body_is_one_error(caplog: pytest.LogCaptureFixture) -> None:
    """A malformed body gets one answer and no log line."""
    async with serving(make_parts()) as url:
        head = b"POST /api/v1/hosts HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = await _talk(url, send=head + b"zzz\r\n")
        assert b" 400 " in answer.splitlines()[0]
        assert answer.count(b"HTTP/1.1") == 1
        await asyncio.sleep(0.05)
    assert not [record for record in caplog.records if "uvicorn" in record.name]


async def test_a_port_in_use_is_an_error() -> None:
    """If another process listens already, the message has the setting and a remedy."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match=r"http\.listen.*another port"):
            bind(HttpSettings(listen=listen))


async def test_the_server_stops_at_the_event() -> None:
    """Setting the event ends `serve` while idle connections are open, and frees the port."""
    parts = make_parts()
    listener = bind(parts.settings.http)
    host, port = listener.getsockname()
    stop, started = asyncio.Event(), asyncio.Event()
    serving_task = asyncio.create_task(
        serve(build_application(parts), parts.settings.http, stop, listener=listener, started=started.set)
    )
    await started.wait()
    _, writer = await asyncio.open_connection(host, port)
    stop.set()
    await asyncio.wait_for(serving_task, 60)
    writer.close()
    with socket.create_server((host, port)):
        pass


async def test_tls_is_served(tmp_path: Path) -> None:
    """With a certificate, HTTPS is served with TLS 1.2 or newer. The error for an invalid file names it."""
    parts, certificate = _with_tls(make_parts(), tmp_path)
    async with serving(parts) as url:
        assert url.startswith("https://")
        place = urlsplit(url)
        trust = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=trust)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"200 OK" in await asyncio.wait_for(reader.read(), 60)
        writer.close()
        await writer.wait_closed()
    key = parts.settings.http.key_file
    with pytest.raises(ListenError, match="certificate_file"):
        tls_context(HttpSettings(certificate_file=key, key_file=str(tmp_path / "missing")))


def _with_tls(parts: CollectorParts, folder: Path) -> tuple[CollectorParts, str]:
    """Return the parts with a new certificate, and its file."""
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    http = msgspec.structs.replace(parts.settings.http, certificate_file=certificate, key_file=key)
    return replace(parts, settings=msgspec.structs.replace(parts.settings, http=http)), certificate
