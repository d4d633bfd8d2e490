"""Identity and probes of this host, as its settings define them."""

import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.accelerators.inventory import read_gpus
from flyball_agent.clock import HostClock
from flyball_agent.inventory.host_inventory import read_inventory
from flyball_agent.probes.catalogue import build_host_probes
from flyball_agent.probes.probe import Probe
from flyball_agent.record import Epoch
from flyball_agent.settings import AgentSettings, interval_ms
from flyball_proto.v1 import telemetry_pb2 as pb


@dataclass(frozen=True, slots=True)
class Probes:
    """All probes. Accelerators are listed separately because they also report processes and events."""

    host: Sequence[Probe]
    accelerators: Sequence[Accelerator]

    @property
    def all(self) -> list[Probe]:
        return [*self.host, *self.accelerators]


def build_probes(settings: AgentSettings) -> Probes:
    """Build the probes of this host."""
    return Probes(build_host_probes(settings), build_accelerator_probes(settings))


def host_name(settings: AgentSettings) -> str:
    """Return the name of this host in the fleet."""
    return settings.host or socket.gethostname()


def agent_version() -> str:
    """Return the installed version, or `unknown` when the agent runs from a source tree that is not installed."""
    try:
        return metadata.version("flyball-fleet")
    except metadata.PackageNotFoundError:
        return "unknown"


def new_epoch(settings: AgentSettings, clock: HostClock) -> Epoch:
    """Start a new epoch."""
    try:
        boot_id = (Path(settings.proc_root) / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot_id = ""
    return Epoch(secrets.token_bytes(16), clock.wall_ns(), boot_id, interval_ms(settings))


def inventory(settings: AgentSettings, accelerators: Sequence[Accelerator]) -> pb.Inventory:
    """Read the inventory of this host; accelerators are those of their newest readings."""
    return read_inventory(settings, read_gpus(accelerators), agent_version())
