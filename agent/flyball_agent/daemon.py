"""The daemon: connects sampler, spool, uplink and socket, and stops them in order."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import structlog

from flyball_agent.adjustments.desk import AdjustmentDesk
from flyball_agent.captures.desk import CaptureDesk, DeskSettings
from flyball_agent.captures.known_processes import AgentProcesses
from flyball_agent.captures.result_socket import SUFFIX, ResultSocket
from flyball_agent.captures.results import CaptureResults
from flyball_agent.clock import KernelClock
from flyball_agent.errors import AgentError, SocketRefused
from flyball_agent.host import Probes, build_probes, host_name, inventory, new_epoch
from flyball_agent.host_events import HostEventQueue
from flyball_agent.installed_version import installed_version
from flyball_agent.memory_footprint import release_memory
from flyball_agent.memory_kills.memory_kill_probe import has_kills, kill_probe
from flyball_agent.record import Epoch, Extras, TickRecord
from flyball_agent.runner import Runner
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.socket import RunSocket
from flyball_agent.runs.tenancy_probe import TenancyProbe, processes_of, tenancy_reader
from flyball_agent.runs.training_members import name_members
from flyball_agent.sampler import Sampler
from flyball_agent.schedule import NANOSECONDS
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings, interval_ms
from flyball_agent.settings_check import check_settings
from flyball_agent.spool.lock import lock_directory
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.writer import SpoolWriter
from flyball_agent.uplink.adjust_stream import AdjustLink
from flyball_agent.uplink.stream import AgentState
from flyball_agent.uplink.uplink import Uplink, UplinkSettings, first_of, set_within
from flyball_daemon import dump, logs
from flyball_daemon.settings import SettingsError
from flyball_daemon.systemd_notifier import SystemdNotifier

_log = structlog.get_logger(__name__)

SAMPLER_STOP_SECONDS = 0.7
WRITER_STOP_SECONDS = 1.0
FORCED_STOP_SECONDS = 2.8
RELOAD_WRITER_SECONDS = 10.0
STATUS_CHECK_SECONDS = 5.0
STATUS_SECONDS = 10.0
INVENTORY_SECONDS = 300.0
INVENTORY_CHECK_SECONDS = 5.0

LoadSettings = Callable[[], AgentSettings]


class AgentDaemon:
    """One run of the agent, from start to stop."""

    def __init__(self, settings: AgentSettings, load: LoadSettings, notifier: SystemdNotifier) -> None:
        self._settings = settings
        self._load = load
        self._notifier = notifier
        self._clock = KernelClock()
        self._metrics = SelfMetrics()
        self._events = HostEventQueue(self._clock)
        self._stop = asyncio.Event()
        self._uplink_stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._registry = RunRegistry()
        self._probes: Probes = build_probes(settings)
        self._tenancy: TenancyProbe | None = None
        self._spool = Spool(
            Path(settings.state_directory) / "spool",
            settings.spool,
            clock=self._clock,
            self_metrics=self._metrics,
            announce=self._events.announce,
        )
        self._agent = AgentState(host_name(settings), installed_version(), self._spool, self._clock, self._metrics)
        self._socket: RunSocket | None = None
        self._captures = self._make_captures(settings)
        self._agent.captures = self._captures
        self._adjustments = AdjustmentDesk(lambda: self._socket, self._clock, enabled=settings.adjustments.enabled)
        self._adjust_link = AdjustLink(
            self._adjustments, self._agent.host, self._agent.version, lambda: self._sampler.epoch.id
        )
        self._uplink = Uplink(_uplink_settings(settings), self._agent, adjust=self._adjust_link)
        self._sampler = self._make_sampler(settings, new_epoch(settings, self._clock), 0)

    async def run(self) -> None:
        """Run until a signal arrives. Raise AgentError if a part of the agent fails."""
        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            stack.callback(self._spool.close)
            stack.callback(lambda: self._writer.stop(WRITER_STOP_SECONDS))
            self._install_signal_handlers(loop, stack)
            self._spool.begin(self._sampler.epoch)
            self._spool.start_syncing()
            await self._open_socket(stack)
            await asyncio.to_thread(self._captures.results.prepare)
            stack.callback(self._captures.stop)
            self._sampler.start()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._uplink.run(self._uplink_stop), name="uplink")
                group.create_task(self._supervise(), name="supervision")
                group.create_task(self._keep_inventory(), name="inventory")
                group.create_task(self._reload_when_asked(), name="reload")
                group.create_task(self._end(), name="end")

    # Construction

    def _make_sampler(self, settings: AgentSettings, epoch: Epoch, sequence: int) -> Sampler:
        self._tenancy = None
        if settings.probes.processes and TenancyProbe.name not in settings.probes.disabled:
            reader = tenancy_reader(settings, self._agent.host, self._probes.accelerators)
            self._tenancy = TenancyProbe(reader, self._probes.accelerators, self._registry)
        name_members(self._probes.host, self._tenancy, self._probes.accelerators)
        tenancy = [self._tenancy] if self._tenancy is not None else []
        kills = [kill_probe(settings, self._events, self._tenancy_body)] if has_kills(settings) else []
        runner = Runner(
            [*self._probes.all, *tenancy, *kills, SelfProbe(self._metrics)],
            settings.probes.time_limit_seconds,
            settings.interval_seconds,
        )
        self._writer = SpoolWriter(
            (self._spool.append, lambda tick: self._offer(epoch, tick)),
            settings.spool.memory_bytes,
            self_metrics=self._metrics,
            announce=self._events.announce,
        )
        sampler = Sampler(
            epoch=epoch,
            runner=runner,
            extras=self._extras,
            sinks=(self._writer.put,),
            clock=self._clock,
            self_metrics=self._metrics,
        )
        sampler.sequence = sequence
        return sampler

    def _make_captures(self, settings: AgentSettings) -> CaptureDesk:
        results = CaptureResults(Path(settings.state_directory) / "captures")
        processes = AgentProcesses(self._registry, self._tenancy_body, lambda: self._socket)
        socket = Path(settings.socket_path + SUFFIX) if settings.socket_path else None
        chosen = DeskSettings(self._agent.host, Path(settings.proc_root), socket, enabled=settings.captures)
        return CaptureDesk(chosen, results, processes)

    def _tenancy_body(self) -> bytes:
        """Return the encoded processes of this host; empty if they are switched off."""
        return self._tenancy.body if self._tenancy is not None else b""

    def _offer(self, epoch: Epoch, tick: TickRecord) -> None:
        self._uplink.offer(epoch.id, tick)

    def _extras(self, _wall_ns: int) -> Extras:
        """Collect the parts of a record that are not readings. Called in the sampler's thread after the probes."""
        accelerators = self._probes.accelerators
        events = self._events.take()
        for accelerator in accelerators:
            events += accelerator.take_events()
        return Extras(
            steps=self._registry.take_reports(),
            events=events,
            gpu_processes=processes_of(accelerators),
            adjustments=self._adjustments.take_outcomes(),
            tenancy=self._tenancy_body(),
        )

    async def _open_socket(self, stack: AsyncExitStack) -> None:
        if not self._settings.socket_path:
            return
        server = RunSocket(Path(self._settings.socket_path), self._registry, self._metrics)
        try:
            await server.start()
        except SocketRefused as error:
            _log.warning("socket_failed", error=str(error))
            return
        stack.push_async_callback(server.stop)
        self._socket = server
        server.captures = self._captures
        server.adjustments = self._adjustments
        results = ResultSocket(Path(self._settings.socket_path + SUFFIX), self._captures.answers)
        results.start()
        stack.callback(results.stop)

    def _install_signal_handlers(self, loop: asyncio.AbstractEventLoop, stack: AsyncExitStack) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
            stack.callback(loop.remove_signal_handler, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        stack.callback(loop.remove_signal_handler, signal.SIGHUP)
        dump.install(loop)
        stack.callback(dump.uninstall, loop)

    # Operation

    async def _supervise(self) -> None:
        """Report the state to systemd. The watchdog depends on the sampler's heartbeat, not on this loop."""
        notifier, reported = self._notifier, -STATUS_SECONDS
        every = min(STATUS_CHECK_SECONDS, (notifier.watchdog_seconds or 60.0) / 4)
        ready = False
        while not self._stop.is_set():
            await set_within(self._stop, every if ready else 0.2)
            if not self._sampler.is_alive and not self._stop.is_set():
                raise AgentError("the sampler has failed; its traceback is above")
            if not ready and self._sampler.sequence:
                ready = notifier.ready(self._status()) or True
                release_memory()
                _log.info("started", host=self._agent.host, version=self._agent.version)
            if self._is_sampling():
                notifier.watchdog()
            if time.monotonic() - reported >= STATUS_SECONDS:
                reported = time.monotonic()
                notifier.status(self._status())

    def _is_sampling(self) -> bool:
        age = (self._clock.boot_ns() - self._sampler.heartbeat_boot_ns) / NANOSECONDS
        return age < max(5.0, 3 * self._settings.interval_seconds)

    def _status(self) -> str:
        columns = len(self._sampler.maker.layout.columns)
        stuck = self._sampler.runner.stuck
        waiting = f"; timed out: {', '.join(stuck)}" if stuck else ""
        adjusting = f"; adjustments {self._adjust_link.state}" if self._adjustments.enabled else ""
        degraded = " in memory: the disk refuses writes" if self._metrics.spool_degraded else ""
        degraded = " in memory: the disk hangs" if self._metrics.spool_hangs else degraded
        return (
            f"{columns} readings every {self._settings.interval_seconds:g} s{waiting}; {self._uplink.state}; "
            f"spool {self._metrics.spool_bytes / 1e6:.1f} MB{degraded}{adjusting}"
        )

    async def _keep_inventory(self) -> None:
        """Read the inventory at start, when the columns change (a device came or went) and every few minutes."""
        layout, read_at = None, 0.0
        while not self._stop.is_set():
            now = time.monotonic()
            if self._sampler.sequence and (
                self._sampler.maker.layout is not layout or now - read_at > INVENTORY_SECONDS
            ):
                layout, read_at = self._sampler.maker.layout, now
                try:
                    self._uplink.set_inventory(
                        await asyncio.to_thread(inventory, self._settings, self._probes.accelerators)
                    )
                except OSError as error:
                    _log.warning("inventory_failed", error=str(error))
            await set_within(self._stop, INVENTORY_CHECK_SECONDS if layout else 0.5)

    # Reload

    async def _reload_when_asked(self) -> None:
        while not self._stop.is_set():
            await first_of(self._stop, self._reload)
            if self._reload.is_set():
                self._reload.clear()
                self._notifier.reloading(time.monotonic_ns())
                await self._reload_settings()
                self._notifier.ready(self._status())

    async def _reload_settings(self) -> None:
        """Apply the settings that can change while the agent runs. Bad settings change nothing."""
        try:
            fresh = await asyncio.to_thread(self._load)
            check_settings(fresh)
        except SettingsError as error:
            logs.answering(_log).error("settings_not_reloaded", error=str(error))
            return
        before, self._settings = self._settings, fresh
        logs.set_up(fresh.log_level, fresh.log_format)
        if _uplink_settings(fresh) != _uplink_settings(before):
            self._uplink.settings = _uplink_settings(fresh)
            self._uplink.reconnect()
        self._adjustments.switch(enabled=fresh.adjustments.enabled)
        if _sampling_settings(fresh) != _sampling_settings(before):
            await self._restart_sampling(before, fresh)
        for key in ("host", "state_directory", "socket_path", "spool", "captures"):
            if getattr(fresh, key) != getattr(before, key):
                _log.warning("setting_needs_restart", key=key)
        _log.info("settings_reloaded")

    async def _restart_sampling(self, before: AgentSettings, fresh: AgentSettings) -> None:
        """Restart the sampler with new settings. A different interval starts a new epoch."""
        old = self._sampler
        if not await asyncio.to_thread(old.stop, 2 * before.interval_seconds + 1):
            raise AgentError("the sampler did not stop for the new settings")
        if not await asyncio.to_thread(self._writer.stop, RELOAD_WRITER_SECONDS):
            raise AgentError(f"cannot apply the new settings: the disk of {before.state_directory} hangs")
        self._probes = build_probes(fresh)
        if interval_ms(fresh) == interval_ms(before):
            self._sampler = self._make_sampler(fresh, old.epoch, old.sequence)
        else:
            epoch = new_epoch(fresh, self._clock)
            self._sampler = self._make_sampler(fresh, epoch, 0)
            await asyncio.to_thread(self._spool.begin, epoch)
            self._uplink.reconnect()
        self._sampler.start()

    # Shutdown

    async def _end(self) -> None:
        """Stop sampling first, then let the uplink send the remaining records and a goodbye."""
        await self._stop.wait()
        self._notifier.stopping("sending the remaining records")
        _log.info("stopping")
        force_exit_after(FORCED_STOP_SECONDS)
        await asyncio.to_thread(self._sampler.stop, SAMPLER_STOP_SECONDS)
        self._uplink_stop.set()


def force_exit_after(seconds: float) -> None:
    """End the process after a while, even if a thread hangs in a driver or on a disk. The spool is safe either way."""

    def exit_now() -> None:
        time.sleep(seconds)
        _log.warning("stop_forced", seconds=seconds)
        os._exit(0)

    threading.Thread(target=exit_now, name="forced-exit", daemon=True).start()


def _uplink_settings(settings: AgentSettings) -> UplinkSettings:
    return UplinkSettings(
        settings.collector, settings.tls, settings.compression, settings.max_reconnect_backoff_seconds
    )


def _sampling_settings(settings: AgentSettings) -> tuple[object, ...]:
    return (
        settings.probes,
        settings.interval_seconds,
        settings.root,
        settings.proc_root,
        settings.sys_root,
        settings.nvml_library,
    )


async def _run(settings: AgentSettings, load: LoadSettings) -> None:
    notifier = SystemdNotifier.from_environment(os.environ)
    with contextlib.closing(notifier):
        await AgentDaemon(settings, load, notifier).run()


def run_daemon(settings: AgentSettings, load: LoadSettings) -> None:
    """Run the agent until a signal arrives. Raise AgentError if it cannot start or continue."""
    check_settings(settings)
    lock = lock_directory(Path(settings.state_directory))
    try:
        asyncio.run(_run(settings, load))
    except* AgentError as group:
        raise group.exceptions[0] from None
    finally:
        if lock is not None:
            os.close(lock)
