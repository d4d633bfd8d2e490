"""Runs uvicorn in the collector's event loop, with its socket, signals and shutdown."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import structlog
import uvicorn
from litestar.types import ASGIApp

from flyball_collector.http.connection_limits import ConnectionLimits
from flyball_collector.http.https_hint import HttpsHintContext
from flyball_collector.http.limited_listener import LimitedListener
from flyball_collector.http.request_target import checked_target
from flyball_collector.http.timed_protocol import TimedProtocol
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.security.tokens import split_listen
from flyball_collector.settings import HttpSettings

MAX_HEADER_BYTES = 16 * 1024
REQUEST_SECONDS = 10.0
"""A connection is closed if its request, including the body, is not complete after this time."""
READ_SECONDS = 30.0
"""A connection is closed if its client reads nothing of an answer for this time."""
STOP_SECONDS = 5
_CERTIFICATE_CHECK_SECONDS = 10.0
_log = structlog.stdlib.get_logger(__name__)


class ListenError(Exception):
    """The HTTP port cannot be opened. The message has the place and a remedy."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the collector, and reports when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, with a time limit for TLS handshakes: uvicorn's own method leaves them asyncio's 60 s."""
        await self.lifespan.startup()
        create = partial(
            cast("Callable[..., TimedProtocol]", self.config.http_protocol_class),
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        limit = REQUEST_SECONDS if self.config.ssl is not None else None
        self.servers = [
            await asyncio.get_running_loop().create_server(
                create, sock=each, ssl=self.config.ssl, backlog=self.config.backlog, ssl_handshake_timeout=limit
            )
            for each in sockets or ()
        ]
        self.started = True
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(settings: HttpSettings, metrics: OwnMetrics | None = None) -> LimitedListener:
    """Open the listening socket. Port 0 lets the kernel choose."""
    host, port = split_listen(settings.listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = LimitedListener(family, socket.SOCK_STREAM)
    limits = ConnectionLimits(settings.connections, settings.connections_per_address, _counted(metrics))
    listener.limit(limits, uses_tls=bool(settings.certificate_file))
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host or "0.0.0.0", port))
        listener.listen(settings.connections)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        hint = "stop the program that listens there, or set http.listen to another port"
        raise ListenError(f"http.listen: {settings.listen}: {error.strerror or error}; {hint}") from None
    return listener


def _counted(metrics: OwnMetrics | None) -> Callable[[str], None]:
    """Return a function that counts connections that were refused or ended, by reason."""
    if metrics is None:
        return lambda _: None
    return lambda reason: metrics.http_closed.labels(reason).inc()


async def serve(
    application: ASGIApp,
    settings: HttpSettings,
    stop: asyncio.Event,
    *,
    listener: LimitedListener | None = None,
    started: Callable[[], None] | None = None,
    metrics: OwnMetrics | None = None,
    request_seconds: float = REQUEST_SECONDS,
    read_seconds: float = READ_SECONDS,
) -> None:
    """Serve until `stop` is set. Requests in progress get some seconds to finish."""
    with listener or bind(settings, metrics) as bound:
        protocol = partial(
            TimedProtocol,
            listener=bound,
            refused=_counted(metrics),
            request_seconds=request_seconds,
            read_seconds=read_seconds,
        )
        await _serve(_Server(_configuration(application, settings, protocol)), settings, stop, bound, started)


async def _serve(
    server: _Server,
    settings: HttpSettings,
    stop: asyncio.Event,
    listener: socket.socket,
    started: Callable[[], None] | None,
) -> None:
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve([listener]), name="http-server")
        watch = tasks.create_task(_watch_certificate(server.config, settings), name="http-certificate")
        await _first_of(server.listening.wait(), serving)
        if started is not None and server.started:
            started()
        await _first_of(stop.wait(), serving)
        server.should_exit = True
        watch.cancel()
        await serving


async def _first_of(event: Awaitable[bool], serving: "asyncio.Task[None]") -> None:
    """Wait for the event, or until the server ends by itself."""
    waiting = asyncio.ensure_future(event)
    try:
        await asyncio.wait((waiting, serving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _configuration(
    application: ASGIApp, settings: HttpSettings, protocol: Callable[..., TimedProtocol]
) -> uvicorn.Config:
    secure: dict[str, Any] = (
        {"ssl_context_factory": lambda *_: tls_context(settings)} if settings.certificate_file else {}
    )
    return uvicorn.Config(
        checked_target(application),
        http=protocol,  # type: ignore[arg-type]  # it is only called
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # invalid requests are not logged, because anyone can send them
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=settings.connections,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_SECONDS,
        **secure,
    )


def tls_context(settings: HttpSettings) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or newer with the certificate of the settings."""
    context = HttpsHintContext()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate_file, settings.key_file)
    except OSError as error:  # also errors of TLS
        what = f"http.certificate_file {settings.certificate_file} with http.key_file {settings.key_file}"
        raise ListenError(f"{what}: {error.strerror or error}; check both files") from None
    return context


async def _watch_certificate(config: uvicorn.Config, settings: HttpSettings) -> None:
    """Load a renewed certificate for new connections without a restart."""
    if not settings.certificate_file:
        return
    seen = _stamps(settings)
    while True:
        await asyncio.sleep(_CERTIFICATE_CHECK_SECONDS)
        now = await asyncio.to_thread(_stamps, settings)
        if now == seen or config.ssl is None:
            continue
        try:
            tls_context(settings)  # both files must match before the context in use is changed
            config.ssl.load_cert_chain(settings.certificate_file, settings.key_file)
        except (ListenError, OSError, ssl.SSLError) as error:
            _log.warning("http_certificate_not_reloaded", reason=str(error))
        else:
            _log.info("http_certificate_reloaded", file=settings.certificate_file)
        seen = now


def _stamps(settings: HttpSettings) -> tuple[int | None, ...]:
    return tuple(_modified_ns(Path(name)) for name in (settings.certificate_file, settings.key_file))


def _modified_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
