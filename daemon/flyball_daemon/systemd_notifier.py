"""Notifies systemd of the state of the service. Without systemd, every call does nothing."""

import os
import socket
from collections.abc import Mapping
from typing import Self


class SystemdNotifier:
    """Sends `sd_notify` datagrams. It never blocks and never raises."""

    def __init__(self, address: str = "", watchdog_seconds: float | None = None) -> None:
        self._socket: socket.socket | None = None
        self.address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_seconds = watchdog_seconds  # None: systemd does not expect a heartbeat
        if address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], pid: int | None = None) -> Self:
        """Create a notifier from the environment variables that systemd sets."""
        return cls(environment.get("NOTIFY_SOCKET", ""), _watchdog_seconds(environment, pid or os.getpid()))

    def ready(self, status: str = "") -> bool:
        """Report that the service has started or reloaded."""
        return self._send("READY=1", *_status(status))

    def status(self, text: str) -> bool:
        """Set the status line of `systemctl status`."""
        return self._send(*_status(text))

    def watchdog(self) -> bool:
        """Send a heartbeat. Call it at least twice per `watchdog_seconds`."""
        return self._send("WATCHDOG=1")

    def reloading(self, monotonic_ns: int) -> bool:
        """Report that settings are being reloaded, until `ready` is called."""
        return self._send("RELOADING=1", f"MONOTONIC_USEC={monotonic_ns // 1000}")

    def stopping(self, status: str = "") -> bool:
        """Report that the service is stopping."""
        return self._send("STOPPING=1", *_status(status))

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> bool:
        if self._socket is None or not lines:
            return False
        try:
            self._socket.sendto("\n".join(lines).encode(), self.address)
        except OSError:  # systemd is busy or not reachable
            return False
        return True


def _status(text: str) -> tuple[str, ...]:
    return (f"STATUS={' '.join(text.split())}",) if text else ()


def _watchdog_seconds(environment: Mapping[str, str], pid: int) -> float | None:
    microseconds, owner = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not microseconds.isdigit() or (owner and owner != str(pid)):
        return None
    return int(microseconds) / 1e6 or None
