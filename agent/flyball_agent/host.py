"""Identity and probes of this host, as its settings define them."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.accelerators.inventory import read_gpus
from flyball_agent.clock import HostClock
from flyball_agent.installed_version import installed_version
from flyball_agent.inventory.host_inventory import read_inventory
from flyball_agent.probes.catalogue import build_host_probes
from flyball_agent.probes.files import read_text
from flyball_agent.probes.host_root import below, is_elsewhere
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
    return settings.host or _name_below(Path(settings.root)) or socket.gethostname()


def _name_below(root: Path) -> str:
    """Return the name of the host around a container, from hostname(5). On the host itself the system is asked."""
    if not is_elsewhere(root):
        return ""
    lines = (read_text(below(root, "etc/hostname")) or "").splitlines()
    return next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")


def new_epoch(settings: AgentSettings, clock: HostClock) -> Epoch:
    """Start a new epoch."""
    try:
        boot_id = (Path(settings.proc_root) / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot_id = ""
    return Epoch(os.urandom(16), clock.wall_ns(), boot_id, interval_ms(settings))


def inventory(settings: AgentSettings, accelerators: Sequence[Accelerator]) -> pb.Inventory:
    """Read the inventory of this host; accelerators are those of their newest readings."""
    return read_inventory(settings, read_gpus(accelerators), installed_version())
