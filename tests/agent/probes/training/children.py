"""Child processes of tests that do one thing until they are ended."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 60.0

SPINS = "while True: pass"
WAITS_FOR_PIPE = "import sys; sys.stdin.read()"
WAITS_FOR_SOCKET = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.recv(1)
"""
WAITS_IN_POLL = """
import select, socket
ends = socket.socketpair()
select.select([ends[0]], [], [])
"""


@contextmanager
def child(script: str, *arguments: object) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a Python script for as long as this lasts. It prints `ready` itself if a test waits for that."""
    command = [sys.executable, "-S", "-E", "-c", script, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail after a minute."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen within a minute"
        time.sleep(0.02)
