"""Completes the inventory of a host without procfs (macOS, BSD) with Python's `platform` and psutil."""

import platform
from typing import Any

from flyball_agent.inventory.power_source import BATTERY, MAINS, UNKNOWN
from flyball_agent.probes.portable_probe import call_psutil, is_watched
from flyball_agent.probes.probe import Unavailable
from flyball_proto.v1 import telemetry_pb2 as pb

NANOSECONDS = 1_000_000_000
MEGA = 1_000_000


def complete(inventory: pb.Inventory) -> None:
    """Fill in the empty fields. What psutil does not provide stays empty."""
    inventory.operating_system = inventory.operating_system or operating_system()
    inventory.kernel = inventory.kernel or platform.release()
    inventory.booted_ns = inventory.booted_ns or int(_call("boot_time") or 0) * NANOSECONDS
    inventory.memory_bytes = inventory.memory_bytes or getattr(_call("virtual_memory"), "total", 0)
    cpu = inventory.cpu
    cpu.model = cpu.model or platform.processor()
    cpu.cores = cpu.cores or _call("cpu_count", logical=False) or 0
    cpu.threads = cpu.threads or _call("cpu_count") or 0
    cpu.max_hertz = cpu.max_hertz or round(getattr(_call("cpu_freq"), "max", 0) * MEGA)
    if not inventory.networks:
        inventory.networks.extend(networks())
    if inventory.power_source in {"", UNKNOWN}:
        inventory.power_source = power_source(getattr(_call("sensors_battery"), "power_plugged", None))


def operating_system() -> str:
    """Return name and version, such as `macOS 15.1` or `FreeBSD 14.2-RELEASE`."""
    mac = platform.mac_ver()[0]
    return f"macOS {mac}" if mac else f"{platform.system()} {platform.release()}".strip()


def networks() -> list[pb.NetworkInterface]:
    """Return the interfaces whose traffic is watched."""
    interfaces = sorted((_call("net_if_stats") or {}).items())
    return [
        pb.NetworkInterface(device=name, speed_bits_per_second=max(0, n.speed) * MEGA, mtu_bytes=max(0, n.mtu))
        for name, n in interfaces
        if is_watched(name)
    ]


def power_source(plugged: bool | None) -> str:
    """Return the power source according to the battery; without a battery it is unknown."""
    return UNKNOWN if plugged is None else MAINS if plugged else BATTERY


def _call(name: str, **options: bool) -> Any:
    try:
        return call_psutil(name, **options)
    except Unavailable:
        return None
