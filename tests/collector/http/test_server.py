"""The server: limits, shutdown, TLS and malformed requests."""

import asyncio
import socket
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from flyball_collector.http.application import build_application
from flyball_collector.http.server import ListenError, bind, serve, tls_context
from flyball_collector.http.testing import fetch, make_parts, serving
from flyball_collector.settings import HttpSettings


async def _talk(url: str, *, send: bytes, until: bytes = b"") -> bytes:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(send)
        await writer.drain()
        return await asyncio.wait_for(reader.readuntil(until) if until else reader.read(), 5)
    finally:
        writer.close()


async def test_endless_headers_are_rejected() -> None:
    """A request with endless headers gets an error and is closed, not buffered."""
    async with serving(make_parts()) as url:
        flood = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Filler: " + b"x" * 100_000
        assert b" 400 " in (await _talk(url, send=flood)).splitlines()[0]
        assert (await fetch(f"{url}/healthz")).status == 200


async def test_an_idle_connection_is_closed() -> None:
    """A connection without a complete request is closed after the time limit."""
    async with serving(make_parts(), request_seconds=0.2) as url:
        assert await _talk(url, send=b"GET / HTTP/1.1\r\nHost: loc") == b""


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
    await asyncio.wait_for(serving_task, 8)
    writer.close()
    with socket.create_server((host, port)):
        pass


async def test_tls_is_served(tmp_path: Path) -> None:
    """With a certificate, HTTPS is served with TLS 1.2 or newer. The error for an invalid file names it."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", certificate], check=True, capture_output=True)  # noqa: ASYNC221  nothing else runs yet
    parts = make_parts()
    http = msgspec.structs.replace(parts.settings.http, certificate_file=certificate, key_file=key)
    parts = type(parts)(
        **{name: getattr(parts, name) for name in parts.__slots__}
        | {"settings": msgspec.structs.replace(parts.settings, http=http)}
    )
    async with serving(parts) as url:
        assert url.startswith("https://")
        place = urlsplit(url)
        trust = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=trust)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"200 OK" in await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await writer.wait_closed()
    with pytest.raises(ListenError, match="certificate_file"):
        tls_context(HttpSettings(certificate_file=key, key_file=str(tmp_path / "missing")))
