"""Reads all parts of the machine into one profile. Readings that may hang run beside the others, with a time limit."""

import platform
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from flyball.host.background_reading import BackgroundReading, ReadingTimedOut
from flyball.host.card_readings import MachineCards, read_cards
from flyball.host.gpus import host_gpus
from flyball.host.hardware_parts import HostDisk, HostNetwork
from flyball.host.hardware_profile import HardwareProfile
from flyball.host.limits import memory_limit, read_limits
from flyball.host.memory import firmware_table, read_memory
from flyball.host.places import HostPlaces
from flyball.host.power import read_power
from flyball.host.processor import read_processor
from flyball.host.reasons import Reasons, add_reasons
from flyball.host.sensors import read_temperatures
from flyball.host.software import read_software
from flyball.host.swap_areas import read_swap_areas
from flyball.host.tiers import tier_of
from flyball.host.working_folder import read_working_folder
from flyball_agent.inventory.host_inventory import read_inventory
from flyball_agent.probes.probe import Unavailable
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEGA = 1_000_000
GPU_SECONDS = 8.0
"""Without its persistence mode the NVIDIA driver takes one to three seconds to wake up; a lost GPU may hang it."""

SENSOR_SECONDS = 1.0

T = TypeVar("T")

_DISKS = dict.fromkeys(("model", "kind", "bytes"), "the driver does not report it")
_NETWORKS = {
    "kind": "the system does not report it",
    "megabits_per_second": "the driver reports no speed (normal for wireless and virtual interfaces)",
    "mtu_bytes": "ports of InfiniBand have none of their own",
}
_TEMPERATURES = {"critical_celsius": "the sensor has no limit"}
_NODES = {"memory_bytes": "the kernel does not report it"}


def read_machine_profile(places: HostPlaces) -> HardwareProfile:
    """Return the profile without measured speeds."""
    reasons: Reasons = {}
    cards = BackgroundReading(lambda: read_cards(places))
    sensors = BackgroundReading(lambda: read_temperatures(places))
    inventory = _inventory(places, reasons)
    table = firmware_table(places)
    processor = read_processor(places, inventory, reasons)
    memory = read_memory(places, inventory, memory_limit(places, inventory), table, reasons)
    folder = read_working_folder(places, reasons)
    swaps = read_swap_areas(places, inventory, reasons)
    found = _result(cards, GPU_SECONDS, MachineCards(), "gpus", reasons)
    gpus = () if "gpus" in reasons else host_gpus(places, found, reasons)
    software = read_software(places, inventory, found, gpus, reasons)
    power = read_power(places, inventory, table, (processor, gpus), reasons)
    profile = HardwareProfile(
        tier=tier_of(None, None, ())[0],
        processor=processor,
        memory=memory,
        swaps=swaps,
        disks=_disks(inventory),
        folder=folder,
        gpus=gpus,
        networks=_networks(inventory),
        software=software,
        power=power,
        temperatures=_result(sensors, SENSOR_SECONDS, (), "temperatures", reasons),
        limits=read_limits(places, inventory),
        unavailable=reasons,
    )
    _explain_lists(profile, reasons)
    return _with_tier(profile)


def _inventory(places: HostPlaces, reasons: Reasons) -> pb.Inventory:
    """Return the agent's inventory. A number of the kernel that cannot be costs its parts, not the profile."""
    settings = AgentSettings(root=str(places.root), proc_root=str(places.proc), sys_root=str(places.sys))
    try:
        return read_inventory(settings)
    except (OSError, OverflowError, ValueError) as error:
        reasons["inventory"] = f"the inventory cannot be read: {error}"[:200]
        return pb.Inventory(architecture=platform.machine())


def _with_tier(profile: HardwareProfile) -> HardwareProfile:
    tier, reason = tier_of(profile.cpu_cores, profile.ram_gb, profile.gpus)
    return replace(profile, tier=tier, tier_reason=reason)


def _result(reading: BackgroundReading[T], seconds: float, instead: T, path: str, reasons: Reasons) -> T:
    """Return the result of a reading, or something instead, with the reason."""
    try:
        return reading.result(seconds)
    except Unavailable as error:
        reasons[path] = error.detail
    except ReadingTimedOut as error:
        reasons[path] = f"the driver gave {error}"
    except Exception as error:  # noqa: BLE001  a driver's odd answer must not cost the other parts
        reasons[path] = f"{type(error).__name__}: {error}"
    return instead


def _disks(inventory: pb.Inventory) -> tuple[HostDisk, ...]:
    return tuple(
        HostDisk(
            device=disk.device,
            model=disk.model or None,
            kind=disk.kind or None,
            bytes=disk.bytes or None,
            mounts=tuple(disk.mounts),
        )
        for disk in inventory.disks
    )


def _networks(inventory: pb.Inventory) -> tuple[HostNetwork, ...]:
    """Return the interfaces without loopback, and the ports of InfiniBand."""
    interfaces = [
        HostNetwork(
            device=each.device,
            kind=each.kind or None,
            megabits_per_second=each.speed_bits_per_second / MEGA or None,
            mtu_bytes=each.mtu_bytes or None,
        )
        for each in inventory.networks
        if each.kind != "loopback"
    ]
    ports = [
        HostNetwork(
            device=f"{each.device} port {each.port}",
            kind="infiniband",
            megabits_per_second=each.rate_bits_per_second / MEGA or None,
        )
        for each in inventory.infiniband_ports
    ]
    return (*interfaces, *ports)


def _explain_lists(profile: HardwareProfile, reasons: Reasons) -> None:
    """Add the reasons of unknown values of disks, interfaces, sensors and nodes."""
    lists: tuple[tuple[str, Sequence[object], Mapping[str, str]], ...] = (
        ("disks", profile.disks, _DISKS),
        ("networks", profile.networks, _NETWORKS),
        ("temperatures", profile.temperatures, _TEMPERATURES),
        ("processor.numa_nodes", profile.processor.numa_nodes, _NODES),
    )
    for path, parts, known in lists:
        for position, part in enumerate(parts):
            add_reasons(reasons, f"{path}.{position}", part, known)
