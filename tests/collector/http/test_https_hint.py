"""Plain HTTP on the TLS port."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from flyball_collector.http.https_hint import https_hint
from flyball_collector.http.server import tls_context
from flyball_collector.settings import HttpSettings


@pytest.fixture
def http(tmp_path: Path) -> HttpSettings:
    """Return settings with a certificate for this machine."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return HttpSettings(certificate_file=certificate, key_file=key)


async def close(*writers: asyncio.StreamWriter) -> None:
    """Close connections that the other side may have closed already."""
    for writer in writers:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def served(http: HttpSettings) -> AsyncIterator[int]:
    """Run a server that sends a send_greetinging on every TLS connection. Yield its port."""

    async def send_greeting(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        await close(writer)

    async with await asyncio.start_server(send_greeting, "127.0.0.1", 0, ssl=tls_context(http)) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
async def test_plain_http_is_answered_with_the_https_address(http: HttpSettings, method: str) -> None:
    """The answer has status 400, plain text and the address that the client used, for any method."""
    async with served(http) as port, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{method} /api/v1/hosts HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readline()
        await close(writer)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nContent-Type: text/plain" in head
    assert f"Content-Length: {len(body)}".encode() in head
    assert body == f"this port speaks TLS: use https://localhost:{port}\n".encode()


async def test_tls_connections_are_unaffected(http: HttpSettings) -> None:
    """A TLS client is served, even while another client waits with plain HTTP."""
    async with served(http) as port, asyncio.timeout(60):
        _, plain = await asyncio.open_connection("127.0.0.1", port)
        plain.write(b"GET / HTTP/1.1\r\n\r\n")
        trust = ssl.create_default_context(cafile=http.certificate_file)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        assert await reader.read() == b"hello"
        await close(writer, plain)


async def test_the_connection_ends_when_more_plain_text_follows(http: HttpSettings) -> None:
    """There is one answer only: a client that continues with plain text is disconnected."""
    async with served(http) as port, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"address\n")
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b""
        await close(writer)


@pytest.mark.parametrize("host", ["evil.example\r\nSet-Cookie: a=b", "<script>", "a b", "x" * 300])
def test_only_a_host_name_is_repeated(host: str) -> None:
    """The answer repeats only a valid host name from the request."""
    answer = https_hint(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).decode()
    assert answer.endswith(("use https:// with the same address\n", "use https://evil.example\n"))
    assert "Set-Cookie" not in answer
