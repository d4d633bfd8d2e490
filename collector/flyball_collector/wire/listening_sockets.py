"""The sockets on which the server listens."""

import socket

_BACKLOG = 1024  # pending connections: a fleet that reconnects has thousands; the kernel may allow fewer


def open_listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return one listening socket for each address of the host. Port 0: the kernel chooses one. Raises `OSError`."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listeners: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = listeners[0].getsockname()[1] if listeners else port
            listeners.append(_listen(family, (str(address[0]), chosen, *address[2:])))
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners


def _listen(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            both = address[0] == "::"  # as gRPC does: IPv4 and IPv6
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
