"""A TCP proxy that can stop forwarding without closing connections, like a broken network."""

import contextlib
import select
import socket
import threading
from typing import Self

_PIECE_BYTES = 64 * 1024


class Proxy:
    """Forward loopback connections; `freeze` drops and closes nothing, it only stops forwarding."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._moving = threading.Event()
        self._moving.set()
        self._closed = threading.Event()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)

    def freeze(self) -> None:
        """Stop forwarding; both ends still see an open connection."""
        self._moving.clear()

    def thaw(self) -> None:
        """Forward again; open connections continue."""
        self._moving.set()

    def cut(self) -> None:
        """Close every connection; new ones are still accepted."""
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._moving.set()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                near, _ = self._listener.accept()
                self._moving.wait()
                far = socket.create_connection(("127.0.0.1", self._target_port), 5)
            except OSError:
                continue
            self._pairs.append((near, far))
            threading.Thread(target=self._forward, args=(near, far), name="proxy-pair", daemon=True).start()

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        with near, far, contextlib.suppress(OSError, ValueError):
            while not self._closed.is_set():
                ready, _, _ = select.select([near, far], [], [], 0.5)
                self._moving.wait()
                for end in ready:
                    piece = end.recv(_PIECE_BYTES)
                    if not piece:
                        return
                    (far if end is near else near).sendall(piece)
