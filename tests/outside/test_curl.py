"""curl is served by both ports with the versions of HTTP that they serve, and refused soon with the others."""

from pathlib import Path

import pytest

from tests.outside.door import SecuredCollector
from tests.outside.notification_route import NOTIFICATION_ROUTE
from tests.outside.programs import Ended, needs, run
from tests.processes import Collector

_CHECK = "/grpc.health.v1.Health/Check"
_GRPC = ("-H", "Content-Type: application/grpc", "-H", "TE: trailers", "--data-binary", "@-")
_EMPTY_MESSAGE = bytes(5)
_REPORT = ("-sS", "--max-time", "10", "--write-out", "\n%{http_code} %{http_version}")
_TIMED_OUT = 28


def _curl(*options: object, sent: bytes = b"") -> Ended:
    needs("curl")
    return run(["curl", *_REPORT, *options], sent=sent)


def _certificate(secured: SecuredCollector) -> list[object]:
    mine = secured.certificate("curl")
    return ["--cacert", secured.authority.ca_file, "--cert", mine.certificate_file, "--key", mine.key_file]


def test_a_grpc_call_without_tls_is_answered(plain: Collector) -> None:
    """A health check over HTTP/2 with prior knowledge gets the message and the trailer of success."""
    address = f"http://127.0.0.1:{plain.grpc_port}{_CHECK}"
    ended = _curl("--http2-prior-knowledge", "--dump-header", "-", *_GRPC, address, sent=_EMPTY_MESSAGE)
    assert ended.output.endswith("\n200 2"), ended
    assert "grpc-status: 0" in ended.output
    assert "\x00\x00\x00\x00\x02\x08\x01" in ended.output  # a message of two bytes: SERVING


def test_a_grpc_call_over_tls_is_answered(secured: SecuredCollector) -> None:
    """The same over TLS, with HTTP/2 negotiated and the collector's certificate checked."""
    address = f"https://localhost:{secured.grpc_port}{_CHECK}"
    ended = _curl("--http2", "--dump-header", "-", *_certificate(secured), *_GRPC, address, sent=_EMPTY_MESSAGE)
    assert ended.output.endswith("\n200 2"), ended
    assert "grpc-status: 0" in ended.output


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), 405),
        (("--data", "x=1"), 415),
        (("-X", "PUT", *_GRPC), 405),
        (("--head",), 405),
        (("-H", "Content-Type: application/json", "--data", "{}"), 415),
    ],
    ids=["GET", "form", "PUT", "HEAD", "JSON"],
)
def test_requests_that_are_not_grpc_get_a_status_of_http(
    plain: Collector, options: tuple[str, ...], status: int
) -> None:
    """gRPC requires an HTTP status for requests that are not gRPC."""
    for _ in range(3):  # the end of the stream may overtake a body that curl still sends: then it drops the answer
        ended = _curl("--http2-prior-knowledge", *options, f"http://127.0.0.1:{plain.grpc_port}{_CHECK}")
        if ended.status != 92:
            break
    assert ended.output.endswith(f"\n{status} 2"), ended


@pytest.mark.parametrize("version", ["--http1.0", "--http1.1", "--http2"])
def test_older_http_is_refused_by_the_agents_port_at_once(plain: Collector, version: str) -> None:
    """HTTP/1 and an upgrade from it end with an error, not with a wait."""
    ended = _curl(version, f"http://127.0.0.1:{plain.grpc_port}/")
    assert ended.status not in {0, _TIMED_OUT}, ended


@pytest.mark.parametrize("option", ["--http1.1", "--no-alpn"])
def test_a_tls_client_that_does_not_negotiate_http2_is_refused(secured: SecuredCollector, option: str) -> None:
    """The agents' port requires ALPN h2, as RFC 9113 (section 3.2) does."""
    ended = _curl(option, *_certificate(secured), f"https://localhost:{secured.grpc_port}/")
    assert ended.status not in {0, _TIMED_OUT}, ended


@pytest.mark.parametrize(
    "options", [("--http1.1",), ("--http1.0",), ("--http2",), ("--compressed",), ("-H", "Connection: close")]
)
def test_the_http_api_answers(plain: Collector, options: tuple[str, ...]) -> None:
    """HTTP/1.0 and 1.1 are answered, and an offer to upgrade to HTTP/2 is ignored."""
    ended = _curl(*options, f"http://127.0.0.1:{plain.http_port}/healthz")
    assert ended.output.endswith(("\n200 1.1", "\n200 1")), ended
    assert '"ok":true' in ended.output


def test_one_connection_answers_many_requests(plain: Collector) -> None:
    """curl reuses its connection for three pages."""
    address = f"http://127.0.0.1:{plain.http_port}"
    ended = _curl("--verbose", f"{address}/healthz", f"{address}/api/v1/hosts", f"{address}/healthz")
    assert ended.output.count("Re-using existing connection") == 2, ended
    assert ended.output.count("\n200 1.1") == 3


def test_http2_on_the_http_port_is_refused_at_once(plain: Collector) -> None:
    """The HTTP API serves HTTP/1.1 only: prior knowledge of HTTP/2 ends with an error."""
    ended = _curl("--http2-prior-knowledge", f"http://127.0.0.1:{plain.http_port}/healthz")
    assert ended.status not in {0, _TIMED_OUT}, ended


def test_a_body_beyond_the_limit_is_refused_before_it_is_sent(plain: Collector, tmp_path: Path) -> None:
    """curl asks whether it may send 50 MB, and does not send them."""
    large = tmp_path / "large"
    large.write_bytes(bytes(50_000_000))
    address = f"http://127.0.0.1:{plain.http_port}{NOTIFICATION_ROUTE.decode()}"
    options = (
        "-H",
        "X-Flyball-Operator: 1",
        "-H",
        "Content-Type: application/json",
        "--write-out",
        " %{http_code} %{size_upload}",
    )
    ended = _curl(*options, "--data-binary", f"@{large}", address)
    assert "413" in ended.output, ended
    assert int(ended.output.split()[-1]) < 2_000_000


def test_a_name_that_is_not_local_is_refused(plain: Collector) -> None:
    """A web site that points its name at the loopback (DNS rebinding) gets no data."""
    address = f"http://evil.example:{plain.http_port}/api/v1/hosts"
    ended = _curl("--resolve", f"evil.example:{plain.http_port}:127.0.0.1", address)
    assert ended.output.endswith("\n403 1.1"), ended
