"""The header Host names exactly one host and at most one port."""

import asyncio
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.http.host_header import HostHeader, parse_host, split_absolute
from flyball_collector.http.testing import make_parts, serving

VALID = {
    "localhost": HostHeader("localhost"),
    "LOCALHOST": HostHeader("localhost"),
    "localhost:3591": HostHeader("localhost", 3591),
    "localhost:": HostHeader("localhost"),
    "localhost:0": HostHeader("localhost", 0),
    "localhost:65535": HostHeader("localhost", 65535),
    "localhost:00080": HostHeader("localhost", 80),
    "127.0.0.1": HostHeader("127.0.0.1"),
    "127.0.0.1:3591": HostHeader("127.0.0.1", 3591),
    "[::1]": HostHeader("::1"),
    "[::1]:3591": HostHeader("::1", 3591),
    "[FE80::1]": HostHeader("fe80::1"),
    "[::ffff:127.0.0.1]": HostHeader("::ffff:127.0.0.1"),
    "node-7.example.org": HostHeader("node-7.example.org"),
    "node_7": HostHeader("node_7"),
    "x" * 255: HostHeader("x" * 255),
}
INVALID = (
    "",
    ":3591",
    "evil@127.0.0.1",
    "evil:pass@127.0.0.1",
    "evil@localhost:3591",
    "@localhost",
    "localhost@",
    "local host",
    " localhost",
    "localhost ",
    "localhost\t",
    "localhost:3591 ",
    "localhost:-1",
    "localhost:+80",
    "localhost:80a",
    "localhost:0x50",
    "localhost:65536",
    "localhost:999999",
    "localhost:80:80",
    "localhost:²",
    "localhost:٣",
    "localhost/",
    "localhost/../evil",
    "localhost?x",
    "localhost#x",
    "localhost,evil",
    "localhost\\evil",
    "localhost%00",
    "%6cocalhost",
    "http://localhost",
    "::1",
    "::1:3591",
    "[::1",
    "::1]",
    "[[::1]]",
    "[127.0.0.1]",
    "[localhost]",
    "[::1%25lo]",
    "[::1]evil",
    "[::1]:80a",
    "[v1.fe80]",
    "löcalhost",
    "localhost\x00",
    "localhost\r\nX: y",
    "x" * 256,
)


@pytest.mark.parametrize(("text", "expected"), VALID.items(), ids=lambda each: str(each)[:40])
def test_a_host_with_or_without_a_port_is_read(text: str, expected: HostHeader) -> None:
    """Names, IPv4 addresses and bracketed IPv6 addresses are read, with a port from 0 to 65535."""
    assert parse_host(text) == expected


@pytest.mark.parametrize("text", INVALID, ids=lambda text: repr(text)[:40])
def test_anything_else_is_invalid(text: str) -> None:
    """User information, spaces, other characters, bare IPv6 addresses and invalid ports make a header invalid."""
    assert parse_host(text) is None


@given(st.text(max_size=30))
def test_a_host_that_was_read_is_the_whole_header(text: str) -> None:
    """Whatever is accepted consists of the host and the port, so nothing can be hidden around them."""
    found = parse_host(text)
    if found is not None:
        name = f"[{found.name}]" if text.startswith("[") else found.name
        _, name_again, port = text.lower().partition(name)
        assert name_again == name
        assert port in {"", ":"} if found.port is None else int(port.removeprefix(":")) == found.port


def test_an_absolute_target_has_an_authority_and_a_path() -> None:
    """Only the schemes http and https are split, and an empty path is the root."""
    assert split_absolute("http://localhost:3591/healthz") == ("localhost:3591", "/healthz")
    assert split_absolute("HTTPS://a") == ("a", "/")
    assert split_absolute("ftp://a/b") is None
    assert split_absolute("*") is None


REQUESTS = {
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n": 200,
    b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:3591\r\n": 200,
    b"GET /metrics HTTP/1.1\r\nHost: [::1]:3591\r\n": 200,
    b"GET /metrics HTTP/1.1\r\nHost: evil@127.0.0.1\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n": 403,
    b"GET /metrics HTTP/1.1\r\nHost: [127.0.0.1]\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: localhost:99999\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n": 400,
    b"GET /metrics HTTP/1.1\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost:\r\n": 403,
    b"GET /metrics HTTP/1.0\r\n": 403,
    b"GET /healthz HTTP/1.0\r\n": 200,
    b"GET /healthz HTTP/1.1\r\nHost: evil@127.0.0.1\r\n": 400,
    b"GET / HTTP/1.1\r\nHost: a b\r\n": 400,
    b"GET http://localhost/metrics HTTP/1.1\r\nHost: localhost\r\n": 200,
    b"GET http://localhost:3591/metrics?target=none HTTP/1.1\r\nHost: localhost\r\n": 404,
    b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n": 200,
    b"GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n": 403,
    b"GET http://localhost/metrics HTTP/1.1\r\nHost: evil.example\r\n": 200,
    b"GET http://evil@localhost/metrics HTTP/1.1\r\nHost: localhost\r\n": 400,
    b"GET http:///metrics HTTP/1.1\r\nHost: localhost\r\n": 400,
    b"GET ftp://localhost/metrics HTTP/1.1\r\nHost: localhost\r\n": 404,
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n": 404,
    b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n": 404,
}


async def test_requests_are_refused_by_the_host_that_they_name() -> None:
    """Each request gets its status: 400 for an invalid host, 403 for another host's name, else that of its path."""
    async with serving(make_parts()) as url:
        for request, expected in REQUESTS.items():
            assert await _status(url, request + b"Connection: close\r\n\r\n") == expected, request


async def _status(url: str, request: bytes) -> int:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 60)
        return int(answer.split(b" ", 2)[1])
    finally:
        writer.close()
