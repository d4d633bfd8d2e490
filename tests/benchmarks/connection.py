"""One connection with gRPC's own client: plaintext, TLS, and grpcio's server over TLS; and 500 that send once a second.

Each server runs in its own process with a handler that only counts.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.wire.call import Call
from flyball_collector.wire.client_limits import ClientLimits
from flyball_collector.wire.events import Limits
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.server import Server
from tests.benchmarks.figure import Figure, at_least, at_most, plain, report

METHOD = "/benchmark/Count"
SMALL, LARGE = bytes(range(250)) * 6, bytes(range(250)) * 1000  # 1.5 KB, and a replayed message of 250 KB
SECONDS = 4.0
STREAMS = 500
STREAM_SECONDS = 20
MESSAGE_BYTES = 4 * 1024 * 1024
POOL = [("grpc.use_local_subchannel_pool", 1)]


@dataclass(frozen=True, slots=True)
class Door:
    """A running server: its process, its address, and the client's credentials, if it speaks TLS."""

    process: subprocess.Popen[str]
    address: str
    credentials: grpc.ChannelCredentials | None

    def channel(self) -> Any:
        """Return a new connection; the stubs require more of it than it has."""
        if self.credentials is None:
            return grpc.insecure_channel(self.address, POOL)
        return grpc.secure_channel(self.address, self.credentials, POOL)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the server has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100  # USER_HZ


def main() -> None:
    """Measure, or serve for a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=("plain", "tls", "grpcio"))
    parser.add_argument("--certificates", type=Path)
    options = parser.parse_args()
    if options.serve == "grpcio":
        serve_grpcio(options.certificates)
    elif options.serve:
        asyncio.run(serve(options.certificates if options.serve == "tls" else None))
    else:
        with tempfile.TemporaryDirectory() as folder:
            report(measure(Path(folder)))


def measure(folder: Path) -> list[Figure]:
    """Measure all doors in the same run."""
    authority = Authority(folder)
    authority.initialise()
    authority.issue("localhost", Part.COLLECTOR)
    authority.issue("agent", Part.AGENT)
    rates = {}
    for kind in ("plain", "tls", "grpcio"):
        with opened(kind, folder) as door:
            rates[kind] = rate(door, SMALL), rate(door, LARGE) * len(LARGE) / 1e6
    with opened("tls", folder) as door:
        cpu = asyncio.run(cpu_a_message(door))
    (plain_small, plain_large), (small, large), (peer_small, peer_large) = rates.values()
    return [
        plain("plaintext, messages of 1.5 KB", plain_small, "/s"),
        at_least("mTLS, messages of 1.5 KB", small, 1000, "/s"),
        plain("grpcio's server over mTLS, messages of 1.5 KB", peer_small, "/s"),
        at_least("mTLS / plaintext, messages of 1.5 KB", small / plain_small, 0.7, "ratio"),
        plain("plaintext, messages of 250 KB", plain_large, "MB/s"),
        at_least("mTLS, messages of 250 KB", large, 20, "MB/s"),
        plain("grpcio's server over mTLS, messages of 250 KB", peer_large, "MB/s"),
        at_least("mTLS / plaintext, messages of 250 KB", large / plain_large, 0.7, "ratio"),
        at_most("mTLS, CPU a message, one a second", cpu * 1e6, 80, "µs", f"{STREAMS} connections"),
    ]


def rate(door: Door, message: bytes) -> float:
    """Return how many messages a second one stream carries."""
    with door.channel() as channel:
        count = channel.stream_unary(METHOD)
        count(iter([message]))  # connected
        started = time.perf_counter()
        sent = int(count(_until(message, started + SECONDS)))
        return sent / (time.perf_counter() - started)


def _until(message: bytes, end: float) -> Iterator[bytes]:
    while time.perf_counter() < end:
        yield message


async def cpu_a_message(door: Door) -> float:
    """Return the server's CPU time for each message of connections that send one a second, spread over it."""
    channels = [
        grpc.aio.secure_channel(door.address, door.credentials or grpc.local_channel_credentials(), POOL)
        for _ in range(STREAMS)
    ]
    calls = [channel.stream_unary(METHOD)() for channel in channels]  # type: ignore[call-arg]  # as above
    used = 0.0
    for second in range(STREAM_SECONDS + 5):
        if second == 5:  # all are connected
            used = door.cpu_seconds()
        started = time.monotonic()
        for number, call in enumerate(calls):
            await call.write(SMALL)
            await asyncio.sleep(max(0.0, started + (number + 1) / STREAMS - time.monotonic()))
    used = door.cpu_seconds() - used
    for channel in channels:
        await channel.close(None)
    return used / (STREAMS * STREAM_SECONDS)


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Door]:
    """Run a server in its own process."""
    command = [sys.executable, "-m", "tests.benchmarks.connection", "--serve", kind, "--certificates", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = process.stdout.readline().strip() if process.stdout else ""
        ca, agent = folder / "ca.crt", folder / "agents" / "agent"
        credentials = grpc.ssl_channel_credentials(
            ca.read_bytes(), agent.with_suffix(".key").read_bytes(), agent.with_suffix(".crt").read_bytes()
        )
        yield Door(process, f"localhost:{port}", None if kind == "plain" else credentials)
    finally:
        process.kill()
        process.wait()


async def serve(certificates: Path | None) -> None:
    """Serve with the collector's wire server until killed."""

    async def count(call: Call) -> None:
        received = 0

        def consume(_message: bytes) -> bool:
            nonlocal received
            received += 1
            return True

        while await call.read(consume) is not None:
            received += 1
        await call.write(b"%d" % received)

    _allow_files()
    contexts = None
    if certificates is not None:
        files = certificates / "collectors" / "localhost.crt", certificates / "collectors" / "localhost.key"
        contexts = ServerContexts(TlsFiles(*files, certificates / "ca.crt"))
    limits = Limits(MESSAGE_BYTES)
    one_certificate = ClientLimits(per_name=2 * STREAMS)
    server = Server(
        {METHOD: count},
        limits,
        max_streams=8192,
        max_age_seconds=3600,
        contexts=contexts,
        client_limits=one_certificate,
    )
    (listener,) = open_listening_sockets("127.0.0.1", 0)
    server.start([listener])
    print(listener.getsockname()[1], flush=True)
    await asyncio.Event().wait()


def serve_grpcio(certificates: Path) -> None:
    """Serve with grpcio's own server until killed."""

    def count(requests: Iterator[bytes], _context: object) -> bytes:
        return b"%d" % sum(1 for _ in requests)

    handler = grpc.method_handlers_generic_handler("benchmark", {"Count": grpc.stream_unary_rpc_method_handler(count)})
    server = grpc.server(ThreadPoolExecutor(4), [handler])
    pair = certificates / "collectors" / "localhost"
    credentials = grpc.ssl_server_credentials(
        [(pair.with_suffix(".key").read_bytes(), pair.with_suffix(".crt").read_bytes())],
        (certificates / "ca.crt").read_bytes(),
        require_client_auth=True,
    )
    print(server.add_secure_port("127.0.0.1:0", credentials), flush=True)
    server.start()
    server.wait_for_termination()


def _allow_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
