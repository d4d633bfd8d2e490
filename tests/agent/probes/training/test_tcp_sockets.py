"""Tests of connections read by netlink, with real connections over loopback."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from flyball_agent.probes.training.tcp_sockets import TcpConnection, TcpSockets, inodes_of, parse_tcp_info


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket, socket.socket]]:
    """Yield a server, a client and the server's end of their connection."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.create_connection(server.getsockname(), 30))
        accepted, _ = server.accept()
        yield server, client, stack.enter_context(accepted)


def connection_of(sockets: TcpSockets, end: socket.socket) -> TcpConnection:
    inode = os.fstat(end.fileno()).st_ino
    (found,) = [one for one in sockets.connections() if one.inode == inode]
    return found


def test_counts_what_a_connection_sends_and_receives(ends: tuple[socket.socket, ...]) -> None:
    """Segments and bytes of one connection are those that its program sent and received."""
    _, client, accepted = ends
    sockets = TcpSockets()
    connection = connection_of(sockets, client)
    before = sockets.info(connection)
    for _ in range(5):
        client.sendall(b"question")
        assert accepted.recv(100)
        accepted.sendall(b"x" * 1000)
        assert client.recv(2000)
    after = sockets.info(connection)
    assert before is not None
    assert after is not None
    assert after.sent_segments - before.sent_segments == 5
    assert after.received_bytes - before.received_bytes == 5000
    assert 0 <= after.least_round_trip_seconds <= after.round_trip_seconds < 10
    sockets.close()


def test_the_listening_port_distinguishes_both_ends(ends: tuple[socket.socket, ...]) -> None:
    """The port of the accepted end is one at which the host listens; that of the end that opened it is not."""
    server, client, accepted = ends
    sockets = TcpSockets()
    listening = sockets.listening()
    assert server.getsockname()[1] in listening
    assert connection_of(sockets, accepted).port in listening
    assert connection_of(sockets, client).port not in listening
    sockets.close()


def test_a_closed_connection_is_gone(ends: tuple[socket.socket, ...]) -> None:
    """A connection that was closed has no state, and the next question is answered again."""
    _, client, accepted = ends
    sockets = TcpSockets()
    connection = connection_of(sockets, client)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    assert sockets.info(connection) is None
    accepted.close()
    assert isinstance(sockets.connections(), list)
    sockets.close()


def test_segments_out_of_order_are_counted_where_the_kernel_does() -> None:
    """An older kernel's structure is shorter: what it does not have is zero or unknown, and never another field."""
    data = bytearray(240)
    struct.pack_into("=I", data, 68, 1500)  # tcpi_rtt in microseconds
    struct.pack_into("=I", data, 148, 2**32 - 1)  # tcpi_min_rtt: not measured yet
    struct.pack_into("=I", data, 224, 3)  # tcpi_rcv_ooopack, since Linux 5.4
    newest, older = parse_tcp_info(bytes(data)), parse_tcp_info(bytes(data[:192]))
    assert newest is not None
    assert older is not None
    assert (newest.disordered, older.disordered) == (3, 0)
    assert newest.least_round_trip_seconds == newest.round_trip_seconds == 0.0015
    assert parse_tcp_info(bytes(104)) is None


def test_finds_sockets_among_descriptors() -> None:
    """Only sockets count among the targets of file descriptors."""
    assert inodes_of(["socket:[17]", "pipe:[18]", "/dev/null", "socket:[x]", "anon_inode:[eventpoll]"]) == {17}
