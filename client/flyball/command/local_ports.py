"""Checks the ports that `flyball up` and `flyball demo` listen on."""

import socket
from collections.abc import Mapping

from flyball.command.errors import CommandError


def check_ports(ports: Mapping[str, int], command: str) -> None:
    """Raise one error about all ports that cannot be used, with options for free ones."""
    reasons = {name: reason for name, port in ports.items() if (reason := _port_fault(port))}
    if reasons:
        faults = ", ".join(f"port {ports[name]} of 127.0.0.1 ({name}): {why}" for name, why in reasons.items())
        options = " ".join(f"--port-{name} {_free_port()}" for name in reasons)
        raise CommandError(
            f"cannot listen on {faults}. If a collector runs here already, `flyball hosts` shows its hosts; "
            f"otherwise choose other ports: flyball {command} {options}"
        )


def _port_fault(port: int) -> str:
    """Return why a port cannot be used; nothing if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.strerror or type(error).__name__
    return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
