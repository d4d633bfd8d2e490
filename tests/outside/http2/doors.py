"""The server under test, with TLS and without, in its own thread with handlers that are good for tests."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flyball_collector.security.certs import Authority, Issued, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.wire.call import Call
from flyball_collector.wire.events import Limits
from flyball_collector.wire.health import HealthService
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.server import Server
from flyball_collector.wire.status import StatusCode
from flyball_collector.wire.timeouts import Timeouts
from tests.outside.http2.peer import Http2Peer

LIMITS = Limits(message_bytes=100_000, streams=4, window_bytes=70_000)


class Door:
    """A listening server."""

    def __init__(self, port: int, tls: ssl.SSLContext | None) -> None:
        self._port = port
        self._tls = tls

    def connect(self) -> Http2Peer:
        """Return a new connection."""
        return Http2Peer(self._port, self._tls)


async def _echo(call: Call) -> None:
    while (message := await call.read()) is not None:
        await call.write(message)


async def _unary(call: Call) -> None:
    await call.write(await call.read_only_message())


async def _hold(_call: Call) -> None:
    await asyncio.Event().wait()  # it reads nothing


async def _denied(call: Call) -> None:
    call.abort(StatusCode.PERMISSION_DENIED, "100 % no — never")


@contextmanager
def open_doors(directory: Path) -> Iterator[dict[str, Door]]:
    """Run both servers."""
    authority = Authority(directory / "ca")
    authority.initialise()
    issued = authority.issue("collector", Part.COLLECTOR)
    contexts = ServerContexts(TlsFiles(issued.certificate_file, issued.key_file, authority.ca_file))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="doors", daemon=True)
    thread.start()
    servers, ports = {}, {}
    for name in ("plaintext", "TLS"):
        servers[name], ports[name] = _start(loop, contexts if name == "TLS" else None)
    try:
        client = _client(authority, authority.issue("gpu-01", Part.AGENT))
        yield {"plaintext": Door(ports["plaintext"], None), "TLS": Door(ports["TLS"], client)}
    finally:
        for server in servers.values():
            asyncio.run_coroutine_threadsafe(server.stop(0.5), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


def _start(loop: asyncio.AbstractEventLoop, contexts: ServerContexts | None) -> tuple[Server, int]:
    async def start() -> tuple[Server, int]:
        handlers = {"/t/echo": _echo, "/t/unary": _unary, "/t/hold": _hold, "/t/denied": _denied}
        health = HealthService(("t",)).handlers
        server = Server(
            {**handlers, **health},
            LIMITS,
            max_streams=64,
            max_age_seconds=600,
            contexts=contexts,
            timeouts=Timeouts(penalty_seconds=0.0),  # one client is at fault in most cases
        )
        (listener,) = open_listening_sockets("127.0.0.1", 0)
        server.start([listener])
        return server, int(listener.getsockname()[1])

    return asyncio.run_coroutine_threadsafe(start(), loop).result(60)


def _client(authority: Authority, issued: Issued) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.load_cert_chain(issued.certificate_file, issued.key_file)
    context.set_alpn_protocols(["h2"])
    return context
