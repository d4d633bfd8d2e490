"""Reads the state of TCP connections from the kernel by `NETLINK_SOCK_DIAG`, as `ss -ti` does."""

import contextlib
import errno
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flyball_agent.probes.files import unavailable
from flyball_agent.probes.probe import Denied

_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG, linux/netlink.h
_BY_FAMILY, _ERROR, _DONE = 20, 2, 3  # SOCK_DIAG_BY_FAMILY, NLMSG_ERROR, NLMSG_DONE
_REQUEST, _DUMP = 1, 0x300  # NLM_F_REQUEST, NLM_F_ROOT | NLM_F_MATCH
_INFO = 2  # INET_DIAG_INFO, linux/inet_diag.h
_ESTABLISHED, _LISTENING = 1 << 1, 1 << 10  # 1 << TCP_ESTABLISHED, 1 << TCP_LISTEN
_HEADER = struct.Struct("=IHHII")
_ASK = struct.Struct("=BBBBI48s")
_MESSAGE = struct.Struct("=BBBB48sIIIII")
_BUFFER = 1 << 17
_MOST_MESSAGES = 4096
"""A dump ends after so many answers: a host with more connections than sockets of a training is not worth the time."""

TIMEOUT_SECONDS = 0.2
FAMILIES = "add AF_NETLINK to RestrictAddressFamilies of the agent's unit"


@dataclass(frozen=True, slots=True)
class TcpConnection:
    """One connection, or a listening socket."""

    family: int
    id: bytes  # ports, addresses, interface and cookie, as the kernel wants them back
    inode: int

    @property
    def port(self) -> int:
        """The local port."""
        return int.from_bytes(self.id[:2], "big")


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """Fields of `struct tcp_info`; the counters start with the connection."""

    round_trip_seconds: float
    least_round_trip_seconds: float  # of the last five minutes (net.ipv4.tcp_min_rtt_wlen)
    sent_segments: int  # with data
    received_bytes: int
    retransmitted: int
    disordered: int  # arrived before an earlier one, which was lost or late
    since_received_seconds: float


def parse_tcp_info(data: bytes) -> TcpInfo | None:
    """Parse `struct tcp_info`; None if the kernel's is too old (before 4.9).

    The offsets are those of linux/tcp.h, to which kernels only append.
    """
    if len(data) < 160:
        return None
    since, trip = struct.unpack_from("=I", data, 52)[0], struct.unpack_from("=I", data, 68)[0]
    (retransmitted,) = struct.unpack_from("=I", data, 100)
    (received,) = struct.unpack_from("=Q", data, 128)
    (least,) = struct.unpack_from("=I", data, 148)
    (sent,) = struct.unpack_from("=I", data, 156)
    disordered = struct.unpack_from("=I", data, 224)[0] if len(data) >= 228 else 0  # since Linux 5.4
    known = least if least < 2**32 - 1 else trip
    return TcpInfo(trip / 1e6, known / 1e6, sent, received, retransmitted, disordered, since / 1e3)


class TcpSockets:
    """Asks the kernel about connections of this network namespace. No privileges are needed."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._sequence = 0

    def connections(self) -> list[TcpConnection]:
        """Return the established connections, at most a few thousand of each protocol version."""
        return self._dump(_ESTABLISHED)

    def listening(self) -> set[int]:
        """Return the ports at which this host accepts connections."""
        return {connection.port for connection in self._dump(_LISTENING)}

    def info(self, connection: TcpConnection) -> TcpInfo | None:
        """Return the state of one connection; None if it was closed."""
        ask = _ASK.pack(connection.family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, 0xFFFFFFFF, connection.id)
        for _, attributes in self._ask(ask, _REQUEST):
            return parse_tcp_info(_attribute(attributes, _INFO))
        return None

    def close(self) -> None:
        """Close the netlink socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __del__(self) -> None:
        self.close()

    def _dump(self, states: int) -> list[TcpConnection]:
        found: list[TcpConnection] = []
        for family in (socket.AF_INET, socket.AF_INET6):
            ask = _ASK.pack(family, socket.IPPROTO_TCP, 0, 0, states, bytes(48))
            found += [connection for connection, _ in self._ask(ask, _REQUEST | _DUMP)]
        return found

    def _ask(self, ask: bytes, flags: int) -> list[tuple[TcpConnection, bytes]]:
        try:
            return list(self._answers(self._open(), ask, flags))
        except OSError as error:
            self.close()
            if error.errno == errno.ENOENT:  # closed since it was listed
                return []
            if error.errno == errno.EAFNOSUPPORT:
                raise Denied("NETLINK_SOCK_DIAG: this process may not open such a socket", FAMILIES) from None
            raise unavailable("NETLINK_SOCK_DIAG", error, "load the kernel module tcp_diag") from None

    def _open(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG)
            self._socket.settimeout(TIMEOUT_SECONDS)
        return self._socket

    def _answers(self, link: socket.socket, ask: bytes, flags: int) -> Iterator[tuple[TcpConnection, bytes]]:
        self._sequence = (self._sequence + 1) & 0x7FFFFFFF
        link.send(_HEADER.pack(_HEADER.size + len(ask), _BY_FAMILY, flags, self._sequence, 0) + ask)
        count = 0
        while True:
            for kind, sequence, body in _messages(link.recv(_BUFFER)):
                if sequence != self._sequence:
                    continue  # of an earlier dump that was given up
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    code = -struct.unpack_from("=i", body)[0]
                    raise OSError(code, "the kernel refused the question")
                yield _connection(body), body[_MESSAGE.size :]
                count += 1
                if not flags & _DUMP:
                    return
                if count == _MOST_MESSAGES:
                    self.close()  # the rest of the dump goes with it
                    return


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield kind, sequence number and body of each message."""
    place = 0
    while place + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, place)
        if length < _HEADER.size:
            return
        yield kind, sequence, data[place + _HEADER.size : place + length]
        place += -(-length // 4) * 4


def _connection(body: bytes) -> TcpConnection:
    family, _, _, _, identity, _, _, _, _, inode = _MESSAGE.unpack_from(body)
    return TcpConnection(family, identity, inode)


def _attribute(data: bytes, wanted: int) -> bytes:
    place = 0
    while place + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, place)
        if length < 4:
            return b""
        if kind == wanted:
            return data[place + 4 : place + length]
        place += -(-length // 4) * 4
    return b""


def inodes_of(links: Sequence[str]) -> set[int]:
    """Return the inodes of the sockets among the targets of `/proc/PID/fd/*`."""
    found: set[int] = set()
    for link in links:
        if link.startswith("socket:["):
            with contextlib.suppress(ValueError):
                found.add(int(link[8:-1]))
    return found
