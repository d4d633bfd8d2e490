"""The daemon: puts sampler, spool, uplink and socket together, and ends them in order."""

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

from flyball_agent.clock import SystemClock
from flyball_agent.errors import AgentError, SocketRefused
from flyball_agent.host import (
    BadSettings,
    Happenings,
    Probes,
    agent_version,
    build_probes,
    check_settings,
    host_name,
    interval_ms,
    inventory,
    new_epoch,
)
from flyball_agent.lean import settle_memory
from flyball_agent.record import Epoch, Extras, Tick
from flyball_agent.runner import Runner
from flyball_agent.runs.book import RunBook
from flyball_agent.runs.socket import RunSocket
from flyball_agent.runs.tenancy import TenancyReader
from flyball_agent.runs.tenancy_probe import TenancyProbe, processes_of
from flyball_agent.sampler import Sampler
from flyball_agent.schedule import NANOSECONDS
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_agent.spool.lock import lock_directory
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.writer import SpoolWriter
from flyball_agent.uplink.stream import Self
from flyball_agent.uplink.uplink import Uplink, UplinkSettings, first_of, set_within
from flyball_daemon import dump, logs
from flyball_daemon.notify import Notifier
from flyball_daemon.settings import SettingsError

_log = structlog.get_logger(__name__)

SAMPLER_STOP_SECONDS = 0.7
WRITER_STOP_SECONDS = 1.0
FORCED_STOP_SECONDS = 2.8
RELOAD_WRITER_SECONDS = 10.0
CARE_SECONDS = 5.0
STATUS_SECONDS = 10.0
INVENTORY_SECONDS = 300.0
INVENTORY_LOOK_SECONDS = 5.0

LoadSettings = Callable[[], AgentSettings]


class Daemon:
    """One agent's life, from READY to STOPPING."""

    def __init__(self, settings: AgentSettings, load: LoadSettings, notifier: Notifier) -> None:
        self._settings = settings
        self._load = load
        self._notifier = notifier
        self._clock = SystemClock()
        self._self_metrics = SelfMetrics()
        self._happenings = Happenings(self._clock)
        self._stop = asyncio.Event()
        self._uplink_stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._book = RunBook()
        self._probes: Probes = build_probes(settings)
        self._tenancy: TenancyProbe | None = None
        self._spool = Spool(
            Path(settings.state_directory) / "spool",
            settings.spool,
            clock=self._clock,
            self_metrics=self._self_metrics,
            announce=self._happenings.announce,
        )
        self._me = Self(host_name(settings), agent_version(), self._spool, self._clock, self._self_metrics)
        self._uplink = Uplink(_uplink_settings(settings), self._me)
        self._sampler = self._make_sampler(settings, new_epoch(settings, self._clock), 0)

    async def run(self) -> None:
        """Until a signal, or until a part dies of a fault; then AgentError."""
        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            stack.callback(self._spool.close)
            stack.callback(lambda: self._writer.stop(WRITER_STOP_SECONDS))
            self._listen_to_signals(loop, stack)
            self._spool.begin(self._sampler.epoch)
            self._spool.start_syncing()
            await self._open_socket(stack)
            self._sampler.start()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._uplink.run(self._uplink_stop), name="uplink")
                group.create_task(self._care(), name="care")
                group.create_task(self._keep_inventory(), name="inventory")
                group.create_task(self._reload_when_asked(), name="reload")
                group.create_task(self._end(), name="end")

    # Making the parts

    def _make_sampler(self, settings: AgentSettings, epoch: Epoch, sequence: int) -> Sampler:
        self._tenancy = None
        if settings.probes.processes and TenancyProbe.name not in settings.probes.disabled:
            reader = TenancyReader(Path(settings.proc_root))
            self._tenancy = TenancyProbe(reader, self._probes.accelerators, self._book)
        tenancy = [self._tenancy] if self._tenancy is not None else []
        runner = Runner(
            [*self._probes.all, *tenancy, SelfProbe(self._self_metrics)],
            settings.probes.time_limit_seconds,
            settings.interval_seconds,
        )
        self._writer = SpoolWriter(
            (self._spool.append, lambda tick: self._offer(epoch, tick)),
            settings.spool.memory_bytes,
            self_metrics=self._self_metrics,
            announce=self._happenings.announce,
        )
        sampler = Sampler(
            epoch=epoch,
            runner=runner,
            extras=self._extras,
            sinks=(self._writer.put,),
            clock=self._clock,
            self_metrics=self._self_metrics,
        )
        sampler.sequence = sequence
        return sampler

    def _offer(self, epoch: Epoch, tick: Tick) -> None:
        self._uplink.offer(epoch.id, tick)

    def _extras(self, _wall_ns: int) -> Extras:
        """What the host says of a tick besides readings; called in the sampler's thread after the probes."""
        accelerators = self._probes.accelerators
        events = self._happenings.take()
        for accelerator in accelerators:
            events += accelerator.take_events()
        return Extras(
            steps=self._book.take_reports(),
            events=events,
            gpu_processes=processes_of(accelerators),
            tenancy=self._tenancy.body if self._tenancy is not None else b"",
        )

    async def _open_socket(self, stack: AsyncExitStack) -> None:
        if not self._settings.socket_path:
            return
        server = RunSocket(Path(self._settings.socket_path), self._book, self._self_metrics)
        try:
            await server.start()
        except SocketRefused as error:
            _log.warning("socket_refused", error=str(error))
            return
        stack.push_async_callback(server.stop)

    def _listen_to_signals(self, loop: asyncio.AbstractEventLoop, stack: AsyncExitStack) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
            stack.callback(loop.remove_signal_handler, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        stack.callback(loop.remove_signal_handler, signal.SIGHUP)
        dump.install(loop)
        stack.callback(dump.uninstall, loop)

    # Living

    async def _care(self) -> None:
        """Tell systemd how we are; the watchdog is fed by what the sampler does, not by this loop."""
        notifier, told = self._notifier, -STATUS_SECONDS
        every = min(CARE_SECONDS, (notifier.watchdog_seconds or 60.0) / 4)
        ready = False
        while not self._stop.is_set():
            await set_within(self._stop, every if ready else 0.2)
            if not self._sampler.is_alive and not self._stop.is_set():
                raise AgentError("the sampler has died; its traceback is above")
            if not ready and self._sampler.sequence:
                ready = notifier.ready(self._status()) or True
                settle_memory()
                _log.info("started", host=self._me.host, version=self._me.version)
            if self._is_sampling():
                notifier.watchdog()
            if time.monotonic() - told >= STATUS_SECONDS:
                told = time.monotonic()
                notifier.status(self._status())

    def _is_sampling(self) -> bool:
        age = (self._clock.boot_ns() - self._sampler.heartbeat_boot_ns) / NANOSECONDS
        return age < max(5.0, 3 * self._settings.interval_seconds)

    def _status(self) -> str:
        columns = len(self._sampler.maker.layout.columns)
        stuck = self._sampler.runner.stuck
        waiting = f"; no answer from {', '.join(stuck)}" if stuck else ""
        degraded = " in memory, the disk refuses" if self._self_metrics.spool_degraded else ""
        degraded = " behind a disk that hangs" if self._self_metrics.spool_hangs else degraded
        return (
            f"{columns} readings every {self._settings.interval_seconds:g} s{waiting}; {self._uplink.state}; "
            f"spool {self._self_metrics.spool_bytes / 1e6:.1f} MB{degraded}"
        )

    async def _keep_inventory(self) -> None:
        """Read what the host is, again when the columns change (a device came or went), and now and then."""
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
                    _log.warning("inventory_not_read", error=str(error))
            await set_within(self._stop, INVENTORY_LOOK_SECONDS if layout else 0.5)

    # Changing

    async def _reload_when_asked(self) -> None:
        while not self._stop.is_set():
            await first_of(self._stop, self._reload)
            if self._reload.is_set():
                self._reload.clear()
                self._notifier.reloading(time.monotonic_ns())
                await self._reload_settings()
                self._notifier.ready(self._status())

    async def _reload_settings(self) -> None:
        """Take over what can be changed while the agent lives; bad settings change nothing."""
        try:
            fresh = await asyncio.to_thread(self._load)
            check_settings(fresh)
        except (SettingsError, BadSettings) as error:
            _log.error("settings_not_reloaded", error=str(error))
            return
        before, self._settings = self._settings, fresh
        logs.set_up(fresh.log_level, fresh.log_format)
        if _uplink_settings(fresh) != _uplink_settings(before):
            self._uplink.settings = _uplink_settings(fresh)
            self._uplink.reconnect()
        if _sampling(fresh) != _sampling(before):
            await self._sample_anew(before, fresh)
        for key in ("host", "state_directory", "socket_path", "spool"):
            if getattr(fresh, key) != getattr(before, key):
                _log.warning("setting_needs_restart", key=key)
        _log.info("settings_reloaded")

    async def _sample_anew(self, before: AgentSettings, fresh: AgentSettings) -> None:
        """Other probes go on in the same epoch; another interval begins a new one."""
        old = self._sampler
        if not await asyncio.to_thread(old.stop, 2 * before.interval_seconds + 1):
            raise AgentError("the sampler did not stop for the new settings")
        if not await asyncio.to_thread(self._writer.stop, RELOAD_WRITER_SECONDS):
            raise AgentError(f"the disk of {before.state_directory} hangs: the settings cannot be changed")
        self._probes = build_probes(fresh)
        if interval_ms(fresh) == interval_ms(before):
            self._sampler = self._make_sampler(fresh, old.epoch, old.sequence)
        else:
            epoch = new_epoch(fresh, self._clock)
            self._sampler = self._make_sampler(fresh, epoch, 0)
            await asyncio.to_thread(self._spool.begin, epoch)
            self._uplink.reconnect()
        self._sampler.start()

    # Ending

    async def _end(self) -> None:
        """Stop sampling first, then let the uplink say what it has and goodbye."""
        await self._stop.wait()
        self._notifier.stopping("sending what is left")
        _log.info("stopping")
        force_exit_after(FORCED_STOP_SECONDS)
        await asyncio.to_thread(self._sampler.stop, SAMPLER_STOP_SECONDS)
        self._uplink_stop.set()


def force_exit_after(seconds: float) -> None:
    """A thread that hangs in a driver or on a disk must not hold the end up; the spool is safe either way."""

    def exit_now() -> None:
        time.sleep(seconds)
        _log.warning("stop_forced", seconds=seconds)
        os._exit(0)

    threading.Thread(target=exit_now, name="forced-exit", daemon=True).start()


def _uplink_settings(settings: AgentSettings) -> UplinkSettings:
    return UplinkSettings(
        settings.collector, settings.tls, settings.compression, settings.max_reconnect_backoff_seconds
    )


def _sampling(settings: AgentSettings) -> tuple[object, ...]:
    return (
        settings.probes,
        settings.interval_seconds,
        settings.proc_root,
        settings.sys_root,
        settings.nvml_library,
    )


async def _run(settings: AgentSettings, load: LoadSettings) -> None:
    notifier = Notifier.from_environment(os.environ)
    with contextlib.closing(notifier):
        await Daemon(settings, load, notifier).run()


def run_daemon(settings: AgentSettings, load: LoadSettings) -> None:
    """Run until a signal; AgentError when the agent cannot begin or go on."""
    check_settings(settings)
    lock = lock_directory(Path(settings.state_directory))
    try:
        asyncio.run(_run(settings, load))
    except* AgentError as group:
        raise group.exceptions[0] from None
    finally:
        if lock is not None:
            os.close(lock)
