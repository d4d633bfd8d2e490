"""Parts that attacks have in common: paths, rates, and connections that are held."""

import socket
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress

from tests.outside.raw_client import Client, Target

CONNECT = b"/flyball.v1.Telemetry/Connect"
ADJUST = b"/flyball.v1.Adjust/Connect"
CHECK = b"/grpc.health.v1.Health/Check"
WATCH = b"/grpc.health.v1.Health/Watch"
CALLS = range(1, 16, 2)  # the streams of the eight calls that one connection may have open
TRICKLE_SECONDS = 0.01
FRAMES_ALLOWED = 280  # a second: just below the limit of 300 frames without data


def repeat_data(target: Target, client: Client, data: bytes) -> None:
    """Send the same again and again."""
    while target.goes_on():
        client.send(data)


def at_rate(target: Target, client: Client, frames: Iterable[bytes], per_second: int) -> None:
    """Send one frame after the other, as many a second as given."""
    started = time.monotonic()
    for sent, each in enumerate(frames):
        if not target.goes_on():
            return
        client.send(each)
        time.sleep(max(0.0, started + sent / per_second - time.monotonic()))


def hold(target: Target, connect: Callable[[], socket.socket], connections: int, data: bytes) -> None:
    """Open connections, send the same on each, and hold them. One that the server closes is opened again."""
    with ExitStack() as stack:
        held: list[socket.socket] = []
        while target.goes_on():
            held = [end for end in held if not _closed(end, target)]
            if len(held) == connections:
                time.sleep(TRICKLE_SECONDS * 5)
            else:
                with suppress(OSError):
                    end = stack.enter_context(connect())
                    end.sendall(data)
                    held.append(end)


def _closed(end: socket.socket, target: Target) -> bool:
    """Read what came. Return True if the server has closed the connection."""
    end.setblocking(False)
    try:
        closed = not end.recv(65_536)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        closed = True
    if closed:
        target.tally.ended += 1
        end.close()
    return closed
