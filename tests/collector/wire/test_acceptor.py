"""The acceptor: which connections it passes on, and which it refuses."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.wire.acceptor import Acceptor
from flyball_collector.wire.listening_sockets import open_listening_sockets

Arrived = list[tuple[socket.socket, frozenset[str]]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("certs"))
    made.initialise()
    return made


@contextmanager
def opened(
    contexts: ServerContexts | None, max_waiting: int = 8, handshake_seconds: float = 5.0
) -> Iterator[tuple[int, Arrived, Acceptor]]:
    """Run an acceptor; yield its port, the connections that it passed on, and itself."""
    listeners, arrived = open_listening_sockets("127.0.0.1", 0), Arrived()
    port = int(listeners[0].getsockname()[1])
    acceptor = Acceptor(
        listeners, contexts, lambda *who: arrived.append(who), max_waiting, handshake_seconds=handshake_seconds
    )
    acceptor.open()
    try:
        yield port, arrived, acceptor
    finally:
        acceptor.close()
        for connected, _ in arrived:
            connected.close()


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


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_verified_client_is_passed_on_with_its_names(authority: Authority, contexts: ServerContexts) -> None:
    """The socket does not block, and both sides have negotiated HTTP/2."""
    with opened(contexts) as (port, arrived, _), connect(authority, port, "gpu-01") as client:
        until(lambda: len(arrived) == 1)
        connected, names = arrived[0]
        assert names == {"gpu-01"}
        assert client.selected_alpn_protocol() == "h2"
        with pytest.raises(ssl.SSLWantReadError):
            connected.recv(1)
        client.sendall(b"x")
        time.sleep(0.05)
        assert connected.recv(10) == b"x"


def test_without_tls_every_connection_is_passed_on() -> None:
    """Such a connection has no names."""
    with opened(None) as (port, arrived, _), socket.create_connection(("127.0.0.1", port), 5):
        until(lambda: len(arrived) == 1)
        assert arrived[0][1] == frozenset()


def test_other_protocols_are_refused(authority: Authority, contexts: ServerContexts) -> None:
    """HTTP/1.1 over TLS, plain HTTP and a client that sends nothing: none is passed on, each is counted."""
    with opened(contexts, handshake_seconds=0.3) as (port, arrived, acceptor):
        with connect(authority, port, "gpu-02", "http/1.1") as client:
            assert client.recv(10) == b""
        with socket.create_connection(("127.0.0.1", port), 5) as rubbish:
            rubbish.sendall(b"GET / HTTP/1.1\r\n\r\n")
            until(lambda: acceptor.refused == 2)
        with socket.create_connection(("127.0.0.1", port), 5) as idle:
            assert idle.recv(10) == b""
            until(lambda: acceptor.refused == 3)
        assert arrived == []


def test_idle_handshakes_do_not_block_new_clients(authority: Authority, contexts: ServerContexts) -> None:
    """Beyond the limit of pending handshakes the oldest is dropped, and the new client is passed on."""
    with opened(contexts, max_waiting=4) as (port, arrived, acceptor):
        idle = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(10)]
        until(lambda: acceptor.refused >= 6)
        with connect(authority, port, "gpu-03"):
            until(lambda: len(arrived) == 1)
        for connected in idle:
            connected.close()


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
