"""The acceptor: which connections it passes on, and which it refuses."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.certs import Authority, Issued, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.wire.acceptor import Acceptor, Contexts
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.transport import Transport
from tests.collector.odd_certificates import odd_certificate, raw_dns_name

NAME = x509.SubjectAlternativeName([x509.DNSName("gpu-13")])
Arrived = list[tuple[Transport, ConnectedClient]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("certs"))
    made.initialise()
    return made


@contextmanager
def opened(
    contexts: Contexts | None,
    max_waiting: int = 8,
    handshake_seconds: float = 5.0,
    refused_agents: RefusedAgents | None = None,
) -> Iterator[tuple[int, Arrived, Acceptor]]:
    """Run an acceptor; yield its port, the connections that it passed on, and itself."""
    listeners, arrived, ends = open_listening_sockets("127.0.0.1", 0), Arrived(), list[BaseException]()
    port = int(listeners[0].getsockname()[1])
    acceptor = Acceptor(
        listeners,
        contexts,
        lambda *who: arrived.append(who),
        refused_agents or RefusedAgents(),
        on_end=ends.append,
        max_waiting=max_waiting,
        handshake_seconds=handshake_seconds,
    )
    acceptor.open()
    try:
        yield port, arrived, acceptor
    finally:
        acceptor.close()
        for connected, _ in arrived:
            connected.close()
    assert ends == []


@pytest.fixture(scope="module")
def contexts(authority: Authority) -> ServerContexts:
    server = authority.issue("localhost", Part.COLLECTOR)
    return ServerContexts(TlsFiles(server.certificate_file, server.key_file, authority.ca_file))


def connect(authority: Authority, port: int, host: str, protocol: str = "h2") -> ssl.SSLSocket:
    """Connect a client with its own certificate."""
    issued = authority.issue(host, Part.AGENT)
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.load_cert_chain(issued.certificate_file, issued.key_file)
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), 5), server_hostname="localhost")


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_verified_client_is_passed_on_with_its_names(authority: Authority, contexts: ServerContexts) -> None:
    """The socket does not block, and both sides have negotiated HTTP/2."""
    with opened(contexts) as (port, arrived, _), connect(authority, port, "gpu-01") as client:
        until(lambda: len(arrived) == 1)
        connected, who = arrived[0]
        assert who == ConnectedClient("127.0.0.1", frozenset({"gpu-01"}))
        assert (client.selected_alpn_protocol(), client.version()) == ("h2", "TLSv1.3")
        assert connected.receive() == b""
        client.sendall(b"x")
        until(lambda: connected.receive() == b"x")


def test_without_tls_every_connection_is_passed_on() -> None:
    """Such a connection has an address and no names."""
    with opened(None) as (port, arrived, _), socket.create_connection(("127.0.0.1", port), 5):
        until(lambda: len(arrived) == 1)
        assert arrived[0][1] == ConnectedClient("127.0.0.1")


def test_other_protocols_are_refused(authority: Authority, contexts: ServerContexts) -> None:
    """HTTP/1.1 over TLS, plain HTTP and a client that sends nothing: none is passed on, each is counted."""
    with opened(contexts, handshake_seconds=0.3) as (port, arrived, acceptor):
        with connect(authority, port, "gpu-02", "http/1.1") as client, suppress(ssl.SSLError):
            assert client.recv(10) == b""
        with socket.create_connection(("127.0.0.1", port), 5) as rubbish:
            rubbish.sendall(b"GET / HTTP/1.1\r\n\r\n")
            until(lambda: acceptor.refused == 2)
        with socket.create_connection(("127.0.0.1", port), 5) as idle:
            assert idle.recv(10) == b""
            until(lambda: acceptor.refused == 3)
        assert arrived == []


def tls_client(
    port: int, ca_file: Path, files: TlsFiles | None, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> bytes:
    """Connect and read until the collector closes. Raises its alert as `ssl.SSLError`."""
    context = ssl.create_default_context(cafile=ca_file)
    context.maximum_version = newest
    if files is not None:
        context.load_cert_chain(files.certificate, files.key)
    context.set_alpn_protocols(["h2"])
    connected = socket.create_connection(("127.0.0.1", port), 5)
    with context.wrap_socket(connected, server_hostname="localhost") as secured:
        with suppress(OSError):  # closed meanwhile: what counts is what can be read
            secured.sendall(bytes(200_000))
        return secured.recv(10)


def files_of(issued: Issued, authority: Authority) -> TlsFiles:
    return TlsFiles(issued.certificate_file, issued.key_file, authority.ca_file)


def newest_reason(refused: RefusedAgents) -> str:
    """Return the newest reason, or nothing: a client may have its alert before the refusal is recorded."""
    return next((agent.reason for agent in refused.recent()), "")


def test_each_failed_handshake_has_a_reason(authority: Authority, contexts: ServerContexts, tmp_path: Path) -> None:
    """The refused agents show why, and the client gets an alert although it has sent more than was read."""
    stranger = Authority(tmp_path / "other")
    stranger.initialise()
    of_stranger = files_of(stranger.issue("gpu-10", Part.AGENT), stranger)
    expired = odd_certificate(authority, tmp_path / "expired", NAME, days_ago=20)
    collector = files_of(authority.issue("gpu-11", Part.COLLECTOR), authority)
    mine, refused = files_of(authority.issue("gpu-12", Part.AGENT), authority), RefusedAgents()
    attempts: list[tuple[TlsFiles | None, ssl.TLSVersion, str, str]] = [
        (None, ssl.TLSVersion.TLSv1_3, "CERTIFICATE_REQUIRED", "no client certificate"),
        (of_stranger, ssl.TLSVersion.TLSv1_3, "UNKNOWN_CA", "unable to get local issuer certificate"),
        (expired, ssl.TLSVersion.TLSv1_3, "CERTIFICATE_EXPIRED", "certificate has expired"),
        (collector, ssl.TLSVersion.TLSv1_3, "UNSUPPORTED_CERTIFICATE", "unsuitable certificate purpose"),
        (mine, ssl.TLSVersion.TLSv1_2, "PROTOCOL_VERSION", "TLS older than 1.3"),
    ]
    with opened(contexts, refused_agents=refused) as (port, arrived, _):
        for files, newest, alert, reason in attempts:
            with pytest.raises(ssl.SSLError, match=alert):
                tls_client(port, authority.ca_file, files, newest)
            until(lambda reason=reason: reason in newest_reason(refused))  # type: ignore[misc]
        with socket.create_connection(("127.0.0.1", port), 5) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            until(lambda: "not TLS" in newest_reason(refused))
        assert arrived == []
        assert {agent.address for agent in refused.recent()} == {"127.0.0.1"}


def test_a_probe_of_the_port_is_not_a_refused_agent(contexts: ServerContexts) -> None:
    """Load balancers open a connection and close it without a byte."""
    refused = RefusedAgents()
    with opened(contexts, refused_agents=refused) as (port, _, acceptor):
        for _ in range(3):
            socket.create_connection(("127.0.0.1", port), 5).close()
        with socket.create_connection(("127.0.0.1", port), 5) as last:
            last.sendall(b"GET / HTTP/1.1\r\n\r\n")
            until(lambda: acceptor.refused > 0)
        assert [agent.count for agent in refused.recent()] == [1]


@pytest.mark.parametrize("name", [b"gpu-\xff\xfe", b"\x00", "gpü".encode()])
def test_a_name_that_is_not_text_ends_its_connection_only(
    authority: Authority, contexts: ServerContexts, tmp_path: Path, name: bytes
) -> None:
    """A valid certificate may hold any bytes as a DNS name; others can connect after it."""
    odd = odd_certificate(authority, tmp_path / "odd", raw_dns_name(name))
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.load_cert_chain(odd.certificate, odd.key)
    context.set_alpn_protocols(["h2"])
    with opened(contexts) as (port, arrived, _):
        plain = socket.create_connection(("127.0.0.1", port), 5)
        with context.wrap_socket(plain, server_hostname="localhost"):
            until(lambda: len(arrived) == 1)
        with connect(authority, port, f"after-{name.hex()}"):
            until(lambda: len(arrived) == 2)


class FailingOnce(ssl.SSLContext):
    """A context with which the first handshake meets an error that nobody foresaw."""

    failed = False

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        if not self.failed:
            self.failed = True
            raise RuntimeError("not foreseen")
        return super().wrap_bio(*arguments, **options)


def test_an_unforeseen_error_ends_its_connection_only(authority: Authority) -> None:
    """It is counted and shown, and the next client is passed on."""
    server, refused = authority.issue("collector-2", Part.COLLECTOR), RefusedAgents()
    context = FailingOnce(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate_file, server.key_file)
    context.load_verify_locations(authority.ca_file)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    with opened(lambda: context, refused_agents=refused) as (port, arrived, _):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(authority, port, "gpu-20")
        with connect(authority, port, "gpu-21"):
            until(lambda: len(arrived) == 1)
    assert [agent.reason for agent in refused.recent()] == ["internal error: RuntimeError"]


def test_idle_handshakes_do_not_block_new_clients(authority: Authority, contexts: ServerContexts) -> None:
    """Beyond the limit of pending handshakes the oldest is dropped, and the new client is passed on."""
    with opened(contexts, max_waiting=4) as (port, arrived, acceptor):
        idle = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(10)]
        until(lambda: acceptor.refused >= 6)
        with connect(authority, port, "gpu-03"):
            until(lambda: len(arrived) == 1)
        for connected in idle:
            connected.close()


def test_slow_handshakes_displace_only_those_of_their_address(authority: Authority, contexts: ServerContexts) -> None:
    """A client that needs long is served although two hundred of another address began after it."""
    files = files_of(authority.issue("gpu-04", Part.AGENT), authority)
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.load_cert_chain(files.certificate, files.key)
    context.set_alpn_protocols(["h2"])
    with opened(contexts, max_waiting=20) as (port, arrived, acceptor), ExitStack() as attack:
        honest = socket.create_connection(("127.0.0.1", port), 5)
        for _ in range(200):
            attack.enter_context(socket.create_connection(("127.0.0.1", port), 5, source_address=("127.0.0.2", 0)))
        until(lambda: acceptor.refused >= 180)
        with context.wrap_socket(honest, server_hostname="localhost"):
            until(lambda: len(arrived) == 1)
        assert arrived[0][1].address == "127.0.0.1"


def test_the_end_of_the_thread_is_reported() -> None:
    """An error that is not one of a handshake ends the thread and is passed on."""
    ends: list[BaseException] = []

    def broken() -> ssl.SSLContext:
        raise MemoryError

    def ignore(*_: object) -> None:
        pass

    listeners = open_listening_sockets("127.0.0.1", 0)
    acceptor = Acceptor(listeners, broken, ignore, RefusedAgents(), on_end=ends.append)
    acceptor.open()
    with socket.create_connection(listeners[0].getsockname(), 5):
        until(lambda: len(ends) == 1)
    assert isinstance(ends[0], MemoryError)
    acceptor.close()


def test_a_closed_acceptor_frees_its_port() -> None:
    """Later connections are refused."""
    with opened(None) as (port, _, _):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)


def test_listening_covers_every_address_of_a_name() -> None:
    """All share one port; a port in use is an error that leaves no socket open."""
    listeners = open_listening_sockets("localhost", 0)
    try:
        ports = {listener.getsockname()[1] for listener in listeners}
        assert len(ports) == 1
        with pytest.raises(OSError, match="in use"):
            open_listening_sockets("127.0.0.1", ports.pop())
    finally:
        for listener in listeners:
            listener.close()
