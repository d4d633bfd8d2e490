"""Reads the whole inventory of the host."""

import platform
from collections.abc import Sequence
from pathlib import Path

from flyball_agent.inventory import portable_inventory
from flyball_agent.inventory.container import container_runtime, read_limits, virtual_machine
from flyball_agent.inventory.cpu import read_cpu
from flyball_agent.inventory.disks import read_disks
from flyball_agent.inventory.memory import read_memory_bytes, read_numa_nodes, read_swaps
from flyball_agent.inventory.networks import read_infiniband_ports, read_networks
from flyball_agent.inventory.power_source import read_power_source
from flyball_agent.probes.files import number_after, read_text
from flyball_agent.probes.host_root import below
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb

NANOSECONDS = 1_000_000_000


def read_inventory(settings: AgentSettings, gpus: Sequence[pb.Gpu] = (), agent_version: str = "") -> pb.Inventory:
    """Read the inventory. What cannot be read stays empty."""
    root, proc, sys = Path(settings.root), Path(settings.proc_root), Path(settings.sys_root)
    runtime = container_runtime(root, proc)
    booted = number_after((read_text(proc / "stat") or "").encode(), b"\nbtime ") or 0
    inventory = pb.Inventory(
        operating_system=operating_system(_os_release(root)),
        kernel=read_text(proc / "sys/kernel/osrelease") or "",
        architecture=platform.machine(),
        boot_id=read_text(proc / "sys/kernel/random/boot_id") or "",
        booted_ns=booted * NANOSECONDS,
        virtualization=virtual_machine(proc, sys) or runtime,
        cpu=read_cpu(proc, sys),
        memory_bytes=read_memory_bytes(proc),
        swaps=read_swaps(proc),
        numa_nodes=read_numa_nodes(sys),
        disks=read_disks(proc, sys, root),
        networks=read_networks(sys),
        gpus=gpus,
        infiniband_ports=read_infiniband_ports(sys),
        limits=read_limits(runtime, proc, sys, root),
        power_source=read_power_source(sys),
        agent_version=agent_version,
        python_version=platform.python_version(),
    )
    if not (proc / "stat").exists():
        portable_inventory.complete(inventory)
    return inventory


def _os_release(root: Path) -> str:
    """Read os-release(5). /etc comes first and is usually a link to the other."""
    return read_text(below(root, "etc/os-release")) or read_text(below(root, "usr/lib/os-release")) or ""


def operating_system(os_release: str) -> str:
    """Return the name of the system from os-release(5), such as `Debian GNU/Linux 13 (trixie)`."""
    pairs = (line.partition("=") for line in os_release.splitlines())
    fields = {key: value.strip("\"'") for key, _, value in pairs}
    return fields.get("PRETTY_NAME") or fields.get("NAME") or ""
