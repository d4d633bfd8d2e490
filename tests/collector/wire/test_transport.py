"""The bytes of a connection, plain and over TLS, with real sockets."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.wire.handshake import Handshake
from flyball_collector.wire.transport import READ_BYTES, PlainTransport, TlsTransport, Transport


@dataclass
class Contexts:
    """The TLS contexts of both sides."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    authority = Authority(tmp_path_factory.mktemp("certs"))
    authority.initialise()
    server, agent = authority.issue("localhost", Part.COLLECTOR), authority.issue("gpu-01", Part.AGENT)
    client = ssl.create_default_context(cafile=authority.ca_file)
    client.load_cert_chain(agent.certificate_file, agent.key_file)
    client.set_alpn_protocols(["h2"])
    files = TlsFiles(server.certificate_file, server.key_file, authority.ca_file)
    return Contexts(ServerContexts(files)(), client)


class TlsClient:
    """A TLS client over memory, so that the test decides which bytes are sent together."""

    def __init__(self, contexts: Contexts) -> None:
        self.server, self.socket = socket.socketpair()
        self.server.setblocking(False)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = contexts.client.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def send(self) -> None:
        self.socket.sendall(self.outgoing.read())

    def receive(self) -> None:
        self.incoming.write(self.socket.recv(1 << 20))

    def connect(self, contexts: Contexts, first: bytes = b"") -> TlsTransport:
        """Complete the handshake. The first data travels with its last message."""
        handshake = Handshake(self.server, contexts.server, "10.0.0.1", 0.0)
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.send()
        assert handshake.proceed() is None
        self.receive()
        self.tls.do_handshake()
        if first:
            self.tls.write(first)
        self.send()
        secured = handshake.proceed()
        assert secured is not None
        return secured[0]

    def read_all(self) -> bytes:
        """Return what has arrived until the other side announced its end."""
        self.incoming.write(b"".join(iter(lambda: self.socket.recv(1 << 20), b"")))
        return b"".join(iter(lambda: self.tls.read(1 << 20), b""))


@pytest.fixture
def client(contexts: Contexts) -> Iterator[TlsClient]:
    made = TlsClient(contexts)
    with made.server, made.socket:
        yield made


def test_one_read_returns_many_records(client: TlsClient, contexts: Contexts) -> None:
    """Forty small TLS records that arrive together come with one read."""
    transport = client.connect(contexts)
    sent = [bytes([number]) * 1000 for number in range(40)]
    for message in sent:
        client.tls.write(message)
    client.send()
    assert transport.receive() == b"".join(sent)
    assert (transport.more, transport.ended, transport.receive()) == (False, False, b"")


def test_data_that_came_with_the_handshake_is_not_lost(client: TlsClient, contexts: Contexts) -> None:
    """The client's last handshake message and its first data may be one packet."""
    transport = client.connect(contexts, b"first")
    assert transport.receive() == b"first"


def test_a_partial_record_waits_for_its_rest(client: TlsClient, contexts: Contexts) -> None:
    """A record that arrives in two parts is returned once it is complete."""
    transport = client.connect(contexts)
    client.tls.write(b"whole")
    encrypted = client.outgoing.read()
    client.socket.sendall(encrypted[:7])
    assert transport.receive() == b""
    client.socket.sendall(encrypted[7:])
    assert transport.receive() == b"whole"


def plain(client: TlsClient, _contexts: Contexts) -> tuple[Transport, Callable[[], bytes]]:
    return PlainTransport(client.server), lambda: b"".join(iter(lambda: client.socket.recv(1 << 20), b""))


def secured(client: TlsClient, contexts: Contexts) -> tuple[Transport, Callable[[], bytes]]:
    return client.connect(contexts), client.read_all


@pytest.mark.parametrize("opened", [plain, secured])
def test_what_the_kernel_does_not_accept_waits(
    client: TlsClient, contexts: Contexts, opened: Callable[..., tuple[Transport, Callable[[], bytes]]]
) -> None:
    """Nothing is lost or doubled, little is encrypted ahead, and the end is announced after the last byte."""
    transport, read_all = opened(client, contexts)
    sent = bytes(range(256)) * 16_384
    outgoing = bytearray(sent)
    first = transport.send(outgoing)
    assert 0 < first < len(sent)
    assert transport.unsent < 20_000
    assert transport.send(outgoing) == 0
    received = bytearray()
    client.socket.setblocking(False)
    while outgoing or transport.unsent:
        received += client.socket.recv(1 << 20)
        transport.send(outgoing)
    transport.finish()
    client.socket.setblocking(True)
    if isinstance(transport, TlsTransport):
        client.incoming.write(bytes(received))
        received.clear()
    assert bytes(received) + read_all() == sent


def test_the_clients_end_is_noticed_after_its_data(client: TlsClient, contexts: Contexts) -> None:
    """Data before the announcement of the end is returned with it."""
    transport = client.connect(contexts)
    client.tls.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    client.send()
    assert (transport.receive(), transport.ended) == (b"last", True)


@pytest.mark.parametrize("opened", [plain, secured])
def test_a_closed_connection_has_ended(
    client: TlsClient, contexts: Contexts, opened: Callable[..., tuple[Transport, Callable[[], bytes]]]
) -> None:
    """The end without an announcement is noticed as well."""
    transport, _ = opened(client, contexts)
    client.socket.close()
    assert (transport.receive(), transport.ended) == (b"", True)


def test_damaged_bytes_end_the_connection_with_an_alert(client: TlsClient, contexts: Contexts) -> None:
    """The client can see that it was TLS that failed."""
    transport = client.connect(contexts)
    client.tls.write(b"data")
    encrypted = bytearray(client.outgoing.read())
    encrypted[-1] ^= 1
    client.socket.sendall(encrypted)
    with pytest.raises(ssl.SSLError):
        transport.receive()
    transport.close()
    with pytest.raises(ssl.SSLError, match="ALERT_BAD_RECORD_MAC"):
        client.read_all()


def test_a_full_read_announces_more() -> None:
    """The server reads again at once only where bytes are left."""
    ours, other = socket.socketpair()
    ours.setblocking(False)
    with ours, other:
        transport = PlainTransport(ours)
        other.sendall(bytes(READ_BYTES + 10))
        assert (len(transport.receive()), transport.more) == (READ_BYTES, True)
        assert (len(transport.receive()), transport.more) == (10, False)


def test_a_slow_handshake_is_not_over_early(client: TlsClient, contexts: Contexts) -> None:
    """Byte by byte, the handshake ends with the last one."""
    handshake = Handshake(client.server, contexts.server, "10.0.0.1", time.monotonic())
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    assert not handshake.began
    for byte in client.outgoing.read():
        client.socket.sendall(bytes([byte]))
        assert handshake.proceed() is None
        assert handshake.began
    client.receive()
    client.tls.do_handshake()
    encrypted = client.outgoing.read()
    client.socket.sendall(encrypted[:-1])
    assert handshake.proceed() is None
    client.socket.sendall(encrypted[-1:])
    assert handshake.proceed() is not None
