"""Assembles the collector: its parts, their start, the tasks that run together, and the order in which they end."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import structlog

from flyball_collector.adjustments.governor.governor import Governor
from flyball_collector.adjustments.rules.rule_source import RuleSource
from flyball_collector.adjustments.shown.alerts import follow_adjustments
from flyball_collector.adjustments.shown.reporting import report_adjustments
from flyball_collector.adjustments.streams.adjust_streams import AdjustStreams
from flyball_collector.captures.hang_captures import HangCaptures
from flyball_collector.captures.orders import CaptureOrders
from flyball_collector.captures.targets import by_last_step
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.waste_keeper import WasteKeeper
from flyball_collector.engine.accounts import Accounts
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.start_up import StartUp
from flyball_collector.events import Events
from flyball_collector.exporter.diagnosis.findings import DiagnosisFindings
from flyball_collector.exporter.diagnosis.snapshot import price_of
from flyball_collector.exporter.renderings import Renderings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.fleet_loop import FleetLoop
from flyball_collector.fleet.runs import FleetRuns
from flyball_collector.fleet.window import Window
from flyball_collector.heartbeat import Heartbeat
from flyball_collector.http.application import build_application
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.server import ListenError, bind, serve
from flyball_collector.ingest.clock import SystemClock
from flyball_collector.ingest.server import IngestServer
from flyball_collector.jobs.schedule import start_jobs
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.recent_series import RecentSeries
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.certificate_expiry import ExpiryWatch, certificates_of
from flyball_collector.security.listen_checks import listening_faults, wants_tls
from flyball_collector.security.pem import CertificateError
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.security.tokens import TokensError, TokensFile
from flyball_collector.settings import CollectorSettings, GrpcSettings
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.store_urls import WrongStoreUrl, open_store
from flyball_collector.wire.server import ListeningFailed
from flyball_daemon import dump, logs
from flyball_daemon.settings import Loaded, SettingsError
from flyball_daemon.systemd_notifier import SystemdNotifier

_log = structlog.get_logger(__name__)

_STOP_SECONDS = 10.0  # for open blocks to be written; agents keep the rest
_LOAD_SECONDS = 5.0
_LIVE_KEYS = frozenset({"log_level", "log_format"})
"""Settings that take effect on SIGHUP. Certificates and tokens are read again without it."""


Reread = Callable[[], Loaded[CollectorSettings]]


class CollectorError(Exception):
    """The collector cannot start, or a part of it failed. The message has the reason and a remedy."""


class WrongSettings(CollectorError):
    """Settings with which a collector cannot start; a restart would not help."""


class Collector:
    """Runs once, until a signal or `stop`."""

    def __init__(
        self,
        loaded: Loaded[CollectorSettings],
        *,
        reread: Reread | None = None,
        notifier: SystemdNotifier | None = None,
    ) -> None:
        self._loaded = loaded
        self._settings = loaded.settings
        self._reread = reread
        self._notifier = notifier or SystemdNotifier()
        self._stopping = asyncio.Event()
        self._metrics = OwnMetrics()
        every = self._settings.send_every_seconds
        window = Window(hold_seconds=1.5 + every, gap_seconds=max(10.0, 3 * every))
        runs = FleetRuns(self._settings.diagnosis.runs.end_after_seconds)
        self._fleet = Fleet(self._settings.limits.hosts, window, runs)
        self._start_up = StartUp.cold()
        self._diagnosis = Diagnosis(self._fleet, self._settings.diagnosis, start_up=self._start_up)
        self._accounts = Accounts(self._diagnosis, self._metrics)
        self._refused_agents = RefusedAgents()
        self.grpc_port = 0
        self.http_port = 0
        self.ready = asyncio.Event()

    def stop(self) -> None:
        """End the collector in order. It may be called repeatedly."""
        self._stopping.set()

    async def run(self) -> None:
        """Start, serve and stop. Raises `CollectorError` with all faults."""
        faults = listening_faults(self._settings)
        if faults:
            raise WrongSettings("\n".join(faults))
        try:
            async with contextlib.AsyncExitStack() as stack:
                await self._run(stack)
        except* WrongStoreUrl as group:
            raise WrongSettings("; ".join(f"store.url: {error}" for error in _flattened(group))) from None
        except* (StoreError, CertificateError, TokensError, ListenError, ListeningFailed) as group:
            raise CollectorError("; ".join(str(error) for error in _flattened(group))) from None

    async def _run(self, stack: contextlib.AsyncExitStack) -> None:
        settings = self._settings
        stack.callback(self._notifier.close)
        stack.enter_context(self._signals())
        self._metrics.started.set(time.time())
        contexts = _contexts(settings.grpc)
        tokens = _tokens(settings.http.tokens_file)
        listener = bind(settings.http, self._metrics)
        stack.callback(listener.close)
        self.http_port = int(listener.getsockname()[1])
        store = await asyncio.to_thread(open_store, settings.store.url)
        stack.push_async_callback(asyncio.to_thread, store.close)
        waste = WasteKeeper(self._accounts.waste, store)
        stack.push_async_callback(waste.save)
        captures = CaptureOrders(
            store,
            settings.captures,
            self._metrics,
            time.time_ns,
            time.monotonic,
            keep_days=settings.store.events_days,
        )
        stack.callback(captures.shut_down)
        events = Events(settings, store, self._fleet, self._diagnosis, self._start_up, self._metrics, time.time_ns)
        governor, adjust = await self._governor(store, events)
        alerts = None if governor is None else follow_adjustments(governor, events.notifier, time.time_ns)
        ingest = IngestServer(
            settings,
            self._fleet,
            store,
            self._metrics,
            SystemClock(),
            contexts,
            self._refused_agents,
            captures.take,
            adjust,
        )
        captures.agents = ingest
        parts = self._parts(store, ingest, tokens, events, captures, governor)
        stack.callback(parts.renderings.close)
        application = build_application(parts)
        stop_ingest = _Once(lambda: ingest.stop(_STOP_SECONDS))
        stack.push_async_callback(stop_ingest)
        try:
            self.grpc_port = await ingest.start()
        except OSError as error:
            hint = "stop the program that listens there, or set grpc.listen to another port"
            reason = error.strerror or error
            raise CollectorError(f"grpc.listen: {settings.grpc.listen}: {reason}; {hint}") from None
        start_jobs(stack, store, settings, self._fleet, self._metrics, time.time_ns)
        http_stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            background = self._background(tasks, ingest, events, waste, captures)
            if governor is not None:
                background.append(tasks.create_task(governor.run(), name="governor"))
            if alerts is not None:
                background.append(tasks.create_task(alerts(), name="adjustment-alerts"))
            http = tasks.create_task(
                serve(
                    application,
                    settings.http,
                    http_stop,
                    listener=listener,
                    started=self._is_ready,
                    metrics=self._metrics,
                ),
                name="http",
            )
            await self._stopping.wait()
            _log.info("collector_stopping")
            self._notifier.stopping("writing open blocks")
            await stop_ingest()
            http_stop.set()
            await http
            await events.stop()
            for task in background:
                task.cancel()
        _log.info("collector_stopped")

    async def _governor(self, store: Store, events: Events) -> tuple[Governor | None, AdjustStreams | None]:
        """Build the governor and its streams if adjustments are enabled. It has a term before agents connect."""
        settings = self._settings.adjustments
        if not settings.enabled:
            return None, None
        governor = Governor(
            settings,
            store,
            events.journal,
            self._fleet.ranks,
            time.time_ns,
            rules=RuleSource(self._diagnosis, self._start_up, settings),
            keep_days=self._settings.store.events_days,
        )
        governor.on_effect(self._diagnosis.run_changed)
        streams = AdjustStreams(settings, governor)
        governor.agents = streams
        with contextlib.suppress(TimeoutError):  # a slow store: the governor's task goes on with it
            await asyncio.wait_for(governor.load(), _LOAD_SECONDS)
        return governor, streams

    def _background(
        self,
        tasks: asyncio.TaskGroup,
        ingest: IngestServer,
        events: Events,
        waste: WasteKeeper,
        captures: CaptureOrders,
    ) -> list[asyncio.Task[None]]:
        """Start the tasks that run beside serving, until they are cancelled."""
        hangs = HangCaptures(captures, lambda run: by_last_step(self._fleet, run))

        def report(found: Sequence[Event]) -> None:
            events.report(found)
            if self._settings.captures.on_hang:
                hangs.take(found)

        heartbeat = Heartbeat(self._notifier, self._metrics, self._status)
        fleet_loop = FleetLoop(
            self._fleet,
            self._metrics,
            diagnose=lambda now_ns, urgent: self._accounts.slices(now_ns, report, urgent_only=urgent),
            catching_up=lambda: ingest.catching_up,
            vanish_after_seconds=self._settings.vanish_after_seconds,
        )
        expiry = ExpiryWatch(certificates_of(self._settings), self._metrics)
        return [
            tasks.create_task(heartbeat.run(), name="heartbeat"),
            tasks.create_task(fleet_loop.run(), name="fleet-loop"),
            tasks.create_task(ingest.failed(), name="ingest"),
            tasks.create_task(events.run(lambda: ingest.warming, lambda: ingest.catching_up), name="events"),
            tasks.create_task(expiry.run(), name="certificate-expiry"),
            tasks.create_task(waste.run(), name="waste-keeper"),
            tasks.create_task(captures.run(), name="captures"),
        ]

    def _parts(
        self,
        store: Store,
        ingest: IngestServer,
        tokens: TokensFile | None,
        events: Events,
        captures: CaptureOrders,
        governor: Governor | None,
    ) -> CollectorParts:
        exported = DiagnosisFindings(self._diagnosis, self._accounts, price_of(self._settings.diagnosis.waste))
        if governor is not None:
            exported.adjustments = report_adjustments(governor, events.timeline, self._metrics, time.time_ns)
        return CollectorParts(
            settings=self._settings,
            fleet=self._fleet,
            store=store,
            clock=time.time_ns,
            renderings=Renderings(
                self._fleet,
                self._metrics,
                findings=exported,
                vanish_after_seconds=self._settings.vanish_after_seconds,
            ),
            own_metrics=self._metrics,
            tokens=tokens,
            recent=RecentSeries(ingest.recent_rows, self._fleet, store),
            not_ready=lambda: _not_ready(ingest),
            warming=lambda: ingest.warming,
            forget_host=lambda name: _forget_host(name, ingest, captures),
            origins=self._loaded.origins,
            timeline=events.timeline,
            notifier=events.notifier,
            diagnosis=self._diagnosis,
            findings=exported,
            advice=lambda: self._diagnosis.advisor.current,
            refused_agents=self._refused_agents.recent,
            captures=captures,
            adjustments=governor,
        )

    def _is_ready(self) -> None:
        self.ready.set()
        self._notifier.ready(self._status())
        _log.info("collector_ready", grpc=self._settings.grpc.listen, http=self._settings.http.listen)

    def _status(self) -> str:
        hosts = self._fleet.hosts()
        return f"{len(hosts)} hosts, {sum(host.connected for host in hosts)} connected"

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Handle signals: TERM and INT stop, HUP reads the settings again, USR1 dumps threads and tasks."""
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGTERM: self.stop, signal.SIGINT: self.stop, signal.SIGHUP: self._reload}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        dump.install(loop)
        try:
            yield
        finally:
            dump.uninstall(loop)
            for number in handlers:
                loop.remove_signal_handler(number)

    def _reload(self) -> None:
        """Apply settings that can change while running, and log those that need a restart. Ignore invalid settings."""
        self._notifier.reloading(time.monotonic_ns())
        try:
            loaded = self._reread() if self._reread else self._loaded
        except SettingsError as error:
            logs.answering(_log).error("settings_not_reloaded", problems=list(error.problems))
        else:
            self._apply(loaded)
        self._notifier.ready(self._status())

    def _apply(self, loaded: Loaded[CollectorSettings]) -> None:
        logs.set_up(loaded.settings.log_level, loaded.settings.log_format)
        restart = changed_keys(self._loaded, loaded) - _LIVE_KEYS
        if restart:
            logs.answering(_log).warning("settings_need_restart", keys=sorted(restart))
        _log.info("settings_reloaded")


class _Once:
    """Runs an action at most once."""

    def __init__(self, action: Callable[[], Awaitable[None]]) -> None:
        self._action = action
        self._done = False

    async def __call__(self) -> None:
        if not self._done:
            self._done = True
            await self._action()


def changed_keys(before: Loaded[CollectorSettings], after: Loaded[CollectorSettings]) -> set[str]:
    """Return the keys whose values differ."""
    old = {key: value for key, value, _ in before.effective()}
    return {key for key, value, _ in after.effective() if value != old[key]}


def _tokens(file: str) -> TokensFile | None:
    try:
        return TokensFile(Path(file)) if file else None
    except TokensError as error:
        raise TokensError(f"http.tokens_file: {error}") from None


def _contexts(settings: GrpcSettings) -> ServerContexts | None:
    if not wants_tls(settings):
        return None
    return ServerContexts(TlsFiles(Path(settings.certificate_file), Path(settings.key_file), Path(settings.ca_file)))


def _forget_host(name: str, ingest: IngestServer, captures: CaptureOrders) -> None:
    ingest.forget_host(name)
    captures.remove_host(name)


def _not_ready(ingest: IngestServer) -> Sequence[str]:
    faults = []
    if not ingest.store_up:
        faults.append("store: the last write failed; records are not acknowledged until one succeeds")
    if not ingest.listening:
        faults.append("grpc: the thread that accepts agents ended; restart the collector")
    return faults


def _flattened(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flattened(error)
        else:
            yield error
