"""What one host's agent watches, put together from its settings."""

import difflib
import os
import secrets
import socket
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import msgspec

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.accelerators.inventory import read_gpus
from flyball_agent.accelerators.protocol import Accelerator
from flyball_agent.clock import Clock
from flyball_agent.errors import AgentError
from flyball_agent.inventory.read import read_inventory
from flyball_agent.probes.catalogue import build_host_probes, linux_probes, portable_probes
from flyball_agent.probes.probe import Probe
from flyball_agent.probes.round_trip import BadTarget, parse_target
from flyball_agent.record import Epoch
from flyball_agent.runs.tenancy_probe import TenancyProbe
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb

MINUTE_MS = 60_000
MAX_EVENTS = 256


class BadSettings(AgentError):
    """Settings that are each well formed but cannot be used."""


@dataclass(frozen=True, slots=True)
class Probes:
    """Everything that is read, accelerators apart because they also tell processes and events."""

    host: Sequence[Probe]
    accelerators: Sequence[Accelerator]

    @property
    def all(self) -> list[Probe]:
        return [*self.host, *self.accelerators]


def build_probes(settings: AgentSettings) -> Probes:
    """The probes of this host."""
    return Probes(build_host_probes(settings), build_accelerator_probes(settings))


def check_settings(settings: AgentSettings) -> None:
    """What the types of the keys cannot say; raises `BadSettings`."""
    if MINUTE_MS % interval_ms(settings):
        raise BadSettings(
            f"interval_seconds = {settings.interval_seconds:g}: a minute must be a whole number of intervals "
            "(0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 15, 20, 30, 60 …)"
        )
    if not settings.collector:
        raise BadSettings("collector: name at least one, as host:port")
    for address in settings.collector:
        if not address.rpartition(":")[2].isdigit():
            raise BadSettings(f"collector = {address!r}: expected host:port, e.g. collector.example.org:3590")
    tls = settings.tls
    if any((tls.ca_file, tls.certificate_file, tls.key_file)) and not all(
        (tls.ca_file, tls.certificate_file, tls.key_file)
    ):
        raise BadSettings("tls: ca_file, certificate_file and key_file belong together: give all three, or none")
    _check_disabled(settings)
    try:
        for target in settings.probes.latency_targets:
            parse_target(target)
    except BadTarget as error:
        raise BadSettings(f"probes.latency_targets: {error}") from None


def _check_disabled(settings: AgentSettings) -> None:
    """A name with a slip of the pen would leave the probe running, silently."""
    if not settings.probes.disabled:
        return
    all_probes = msgspec.structs.replace(settings.probes, disabled=(), latency_targets=())
    bare = msgspec.structs.replace(settings, probes=all_probes)
    everywhere = [*linux_probes(bare), *portable_probes(bare), *build_accelerator_probes(bare)]
    known = list(dict.fromkeys(probe.name for probe in everywhere))  # one file may serve unlike hosts
    known.append(TenancyProbe.name)
    for name in settings.probes.disabled:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise BadSettings(f"probes.disabled: there is no probe {name}; {hint}")


def interval_ms(settings: AgentSettings) -> int:
    """The interval as it travels."""
    return round(settings.interval_seconds * 1000)


def host_name(settings: AgentSettings) -> str:
    """Under which name this host is known."""
    return settings.host or socket.gethostname()


def agent_version() -> str:
    """The installed version; `unknown` when run from a bare source tree."""
    try:
        return metadata.version("flyball")
    except metadata.PackageNotFoundError:
        return "unknown"


def new_epoch(settings: AgentSettings, clock: Clock) -> Epoch:
    """A new life."""
    try:
        boot_id = (Path(settings.proc_root) / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot_id = ""
    return Epoch(secrets.token_bytes(16), clock.wall_ns(), boot_id, interval_ms(settings))


def inventory(settings: AgentSettings, accelerators: Sequence[Accelerator]) -> pb.Inventory:
    """What this host is, accelerators as of their newest readings."""
    return read_inventory(settings, read_gpus(accelerators), agent_version())


class Happenings:
    """Host events on their way into the next record; any thread may announce one, and a flood is cut off."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._events: deque[pb.HostEvent] = deque(maxlen=MAX_EVENTS)

    def announce(self, kind: str, text: str) -> None:
        """Something that befell this agent or host."""
        self._events.append(pb.HostEvent(kind=kind, time_ns=self._clock.wall_ns(), text=text[:500]))

    def take(self) -> list[pb.HostEvent]:
        """What was announced since this was last asked."""
        events: list[pb.HostEvent] = []
        while self._events:
            events.append(self._events.popleft())
        return events


def is_writable(directory: Path) -> bool:
    """Whether the agent could keep its spool there: the directory, or the nearest one above that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return os.access(directory, os.W_OK | os.X_OK)
