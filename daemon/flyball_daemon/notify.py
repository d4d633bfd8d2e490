"""Tell systemd how the service is: ready, reloading, stopping, alive. Without systemd every call does nothing."""

import os
import socket
from collections.abc import Mapping
from typing import Self


class Notifier:
    """Sends `sd_notify` datagrams; never blocks, never raises: the service matters more than its supervisor."""

    def __init__(self, address: str = "", watchdog_seconds: float | None = None) -> None:
        self._socket: socket.socket | None = None
        self.address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_seconds = watchdog_seconds  # None: systemd does not ask for a heartbeat
        if address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], pid: int | None = None) -> Self:
        """As systemd asked this process to."""
        return cls(environment.get("NOTIFY_SOCKET", ""), _watchdog_seconds(environment, pid or os.getpid()))

    def ready(self, status: str = "") -> bool:
        """Started, or reloaded."""
        return self._send("READY=1", *_status(status))

    def status(self, text: str) -> bool:
        """One line for `systemctl status`."""
        return self._send(*_status(text))

    def watchdog(self) -> bool:
        """Still alive; call it at most every half of `watchdog_seconds`."""
        return self._send("WATCHDOG=1")

    def reloading(self, monotonic_ns: int) -> bool:
        """Settings are read again; `ready` ends it."""
        return self._send("RELOADING=1", f"MONOTONIC_USEC={monotonic_ns // 1000}")

    def stopping(self, status: str = "") -> bool:
        """An orderly end has begun."""
        return self._send("STOPPING=1", *_status(status))

    def close(self) -> None:
        """Let go of the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> bool:
        if self._socket is None or not lines:
            return False
        try:
            self._socket.sendto("\n".join(lines).encode(), self.address)
        except OSError:  # the supervisor is slow, gone or elsewhere
            return False
        return True


def _status(text: str) -> tuple[str, ...]:
    return (f"STATUS={' '.join(text.split())}",) if text else ()


def _watchdog_seconds(environment: Mapping[str, str], pid: int) -> float | None:
    microseconds, owner = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not microseconds.isdigit() or (owner and owner != str(pid)):
        return None
    return int(microseconds) / 1e6 or None
