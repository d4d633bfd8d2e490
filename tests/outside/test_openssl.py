"""OpenSSL's own client and odd certificates: who may not connect, and that nobody else notices."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from flyball_collector.security.certs import Authority
from tests.outside.door import SecuredCollector
from tests.outside.doors import Door
from tests.outside.odd_certificates import SERVER, Files, Odd, address, dns_of_bytes, issue
from tests.outside.programs import Ended, Interactive, needs, run
from tests.raw_agent import RawAgent

_NOT_HTTP2 = b"neither HTTP/2 nor gRPC\n"
_REFUSAL_OF_THE_PROTOCOL = "not HTTP/2"  # which only a client with a finished handshake reads


@pytest.fixture(autouse=True)
def _others_are_served(secured: SecuredCollector) -> Iterator[None]:
    """After each odd client, an honest one connects at once."""
    yield
    with closing(Door(secured).channel("honest")) as channel:
        answer = HealthStub(channel).Check(HealthCheckRequest(), timeout=10)
    assert answer.status == HealthCheckResponse.SERVING


@pytest.fixture
def valid(secured: SecuredCollector) -> Files:
    """A certificate that `flyball certs` made."""
    issued = secured.certificate("openssl")
    return Files(issued.certificate_file, issued.key_file)


def _connect(collector: SecuredCollector, files: Files | None, *options: object) -> Ended:
    """Run `openssl s_client`, which reads until the collector ends the connection."""
    needs("openssl")
    return run([*_s_client(collector, files), "-ign_eof", *options], sent=_NOT_HTTP2)


def _s_client(collector: SecuredCollector, files: Files | None) -> list[object]:
    mine = ["-cert", files.certificate, "-key", files.key] if files else []
    server = ["-connect", f"127.0.0.1:{collector.grpc_port}", "-CAfile", collector.authority.ca_file]
    return ["openssl", "s_client", *server, "-alpn", "h2", *mine]


def test_tls_1_3_is_accepted(secured: SecuredCollector, valid: Files) -> None:
    """The handshake of an ordinary client succeeds, or the refusals below would prove nothing."""
    ended = _connect(secured, valid, "-tls1_3", "-verify_return_error")
    assert _REFUSAL_OF_THE_PROTOCOL in ended.output, ended.output
    assert "ALPN protocol: h2" in ended.output


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_1", "-tls1"])
def test_older_versions_of_tls_are_refused(secured: SecuredCollector, valid: Files, version: str) -> None:
    """Agents speak TLS 1.3; nothing older is accepted from anybody, at any security level."""
    ended = _connect(secured, valid, version, "-cipher", "ALL:@SECLEVEL=0")
    assert _REFUSAL_OF_THE_PROTOCOL not in ended.output, ended.output
    assert "alert protocol version" in ended.output, ended.output


@pytest.mark.parametrize("protocol", ["http/1.1", "grpc-exp", "spdy/3.1", "h2c"])
def test_other_protocols_are_refused_in_the_handshake(secured: SecuredCollector, valid: Files, protocol: str) -> None:
    """A client that offers only other protocols than h2 gets no connection."""
    ended = _connect(secured, valid, "-alpn", protocol)
    assert _REFUSAL_OF_THE_PROTOCOL not in ended.output, ended.output


def test_a_session_is_never_resumed(secured: SecuredCollector, valid: Files, tmp_path: Path) -> None:
    """No session tickets: each connection presents its certificate, and there is no early data."""
    session = tmp_path / "session"
    ended = _connect(secured, valid, "-tls1_3", "-sess_out", session)
    assert _REFUSAL_OF_THE_PROTOCOL in ended.output, ended.output
    assert "Reused" not in ended.output
    assert not session.exists()
    assert "Early data was accepted" not in ended.output


def test_a_key_update_is_followed(secured: SecuredCollector, valid: Files) -> None:
    """A client may change its keys within a connection (RFC 8446, section 4.6.3)."""
    needs("openssl")
    command = [*_s_client(secured, valid), "-tls1_3"]
    with Interactive(command) as client:
        client.wait("ALPN protocol: h2")
        client.send(b"K\n")  # a command of s_client: update the keys now, and ask for the same
        client.wait("KEYUPDATE")
        client.send(_NOT_HTTP2)
        client.wait(_REFUSAL_OF_THE_PROTOCOL)


def test_a_client_without_a_certificate_is_refused(secured: SecuredCollector) -> None:
    """TLS without a certificate of a host does not suffice."""
    ended = _connect(secured, None)
    assert _REFUSAL_OF_THE_PROTOCOL not in ended.output, ended.output
    assert "alert certificate required" in ended.output


_REFUSED = {
    "expired": Odd(from_days=-30, to_days=-1),
    "not yet valid": Odd(from_days=1),
    "self-signed": Odd(self_signed=True),
    "only for servers": Odd(usages=(SERVER,)),
}


@pytest.mark.parametrize("odd", _REFUSED.values(), ids=_REFUSED.keys())
def test_a_certificate_that_is_not_valid_for_a_client_is_refused(
    secured: SecuredCollector, tmp_path: Path, odd: Odd
) -> None:
    """Dates, signature and use are checked in the handshake."""
    ended = _connect(secured, issue(odd, secured.authority, tmp_path))
    assert _REFUSAL_OF_THE_PROTOCOL not in ended.output, ended.output


def test_an_authority_with_the_same_name_is_not_trusted(secured: SecuredCollector, tmp_path: Path) -> None:
    """The signature counts, not the issuer's name."""
    other = Authority(tmp_path / "other")
    other.initialise()
    ended = _connect(secured, issue(Odd(), other, tmp_path))
    assert _REFUSAL_OF_THE_PROTOCOL not in ended.output, ended.output


_NOT_ODD = {
    "URI": Odd((x509.UniformResourceIdentifier("odd"),)),
    "e-mail": Odd((x509.RFC822Name("odd"),)),
    "directory": Odd((x509.DirectoryName(x509.Name([])),)),
    "registered": Odd((x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),)),
    "only a common name": Odd(names=()),
    "another DNS name": Odd((x509.DNSName("odd.example"),)),
    "a wildcard": Odd((x509.DNSName("*"), x509.DNSName("od*"))),
    "a DNS name with a zero byte": Odd(raw_names=dns_of_bytes(b"odd\x00.example")),
    "a DNS name that is not UTF-8": Odd(raw_names=dns_of_bytes(b"\xff\xfeodd\xc3")),
    "an empty DNS name": Odd(raw_names=dns_of_bytes(b"")),
    "names that are not DER": Odd(raw_names=b"\x30\x7f\x82\x03odd"),
    "no names": Odd(raw_names=b"\x30\x00"),
    "the right name, but for no use": Odd(usages=()),
}

_REFUSALS = {grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNAVAILABLE}


@pytest.mark.parametrize("odd", _NOT_ODD.values(), ids=_NOT_ODD.keys())
def test_other_names_do_not_make_a_host(secured: SecuredCollector, tmp_path: Path, odd: Odd) -> None:
    """Only a DNS name or an address names the host; the host `odd` stays unknown, and the next agent is served."""
    with _agent(secured, issue(odd, secured.authority, tmp_path), "odd") as agent:
        assert agent.wait_ended() in _REFUSALS
        assert not agent.replies


@pytest.mark.parametrize(
    ("odd", "host"),
    [(Odd(), "odd"), (Odd((address("192.0.2.7"),)), "192.0.2.7"), (Odd((x509.RFC822Name("a@b"), *Odd().names)), "odd")],
    ids=["DNS name", "address", "DNS name beside others"],
)
def test_a_dns_name_or_an_address_makes_a_host(secured: SecuredCollector, tmp_path: Path, odd: Odd, host: str) -> None:
    """A certificate of an own authority is accepted for the host that it names."""
    with _agent(secured, issue(odd, secured.authority, tmp_path), host) as agent:
        agent.wait("welcomed", lambda a: bool(a.replies))


def _agent(secured: SecuredCollector, files: Files, host: str) -> RawAgent:
    mine = (files.key.read_bytes(), files.certificate.read_bytes())
    credentials = grpc.ssl_channel_credentials(secured.authority.ca_file.read_bytes(), *mine)
    return RawAgent(secured.grpc_port, host, credentials=credentials).open()
