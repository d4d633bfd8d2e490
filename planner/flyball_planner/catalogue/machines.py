"""Machines: as many devices as wanted, a node's worth together, and a network between nodes."""

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device, find_profile
from flyball_planner.catalogue.hardware import Device, DeviceKind, Link, Machine
from flyball_planner.catalogue.links import link_named, network_named
from flyball_planner.catalogue.tables import Row, table
from flyball_reports.errors import InputError

CENTRE_NETWORK = "1 x Ethernet 100GbE"
DESK_NETWORK = "1 x Ethernet 10GbE"
"""Assumed where neither the user nor the catalogue says more: for data-centre cards; for GeForce, Apple, processors."""

UNKNOWN_LINK = "PCIe 4.0 x16"


def machine(
    name: str | Device,
    devices: int | None = None,
    devices_a_node: int | None = None,
    network: str | Link | None = None,
) -> Machine:
    """So many of a device, or of a cloud instance by its type, over as many nodes as that takes.

    The network may be a name ("InfiniBand NDR"), ports a node ("8 x InfiniBand NDR"), a node's rate ("1600 Gbps") or a
    device's ("400 Gb/s per GPU"). What is not said is assumed, and the assumptions are listed.
    """
    instance = _instance(name) if isinstance(name, str) else None
    device = name if isinstance(name, Device) else find_device(instance["device"] if instance else name)
    in_instance = max(1, int(float(instance["devices"]))) if instance else None
    count = _positive("devices", devices, in_instance or _usual_count(name))
    node = _positive("devices_a_node", devices_a_node, in_instance or device.devices_a_node)
    device, assumed_link = _linked(device, alone=min(count, node) == 1)
    between, assumed_network = _between(device, node, network, instance) if count > node else (None, "")
    return Machine(
        device=device,
        devices=count,
        devices_a_node=node,
        between_nodes=between,
        host_memory_bytes=_host_memory_bytes(device, instance),
        host_cores=_host_cores(device, instance),
        assumptions=tuple(filter(None, (assumed_link, assumed_network))),
    )


def _positive(key: str, given: int | None, otherwise: int) -> int:
    value = otherwise if given is None else given
    if value < 1:
        raise InputError(f"{key} is {value}; it must be at least 1")
    return value


def _usual_count(name: str | Device) -> int:
    profile = find_profile(name) if isinstance(name, str) else None
    return profile.devices if profile else 1


def _instance(name: str) -> Row | None:
    return next((row for row in table("prices") if row["instance"].casefold() == name.strip().casefold()), None)


def _linked(device: Device, *, alone: bool) -> tuple[Device, str]:
    if device.within_node or alone:
        return device, ""
    said = f"how {device.name}s are joined within a node is not known: taken as {UNKNOWN_LINK}"
    return replace(device, within_node=link_named(UNKNOWN_LINK)), said


def _between(device: Device, node: int, network: str | Link | None, instance: Row | None) -> tuple[Link, str]:
    if isinstance(network, Link):
        return network, ""
    if network:
        return network_named(network, node), ""
    known = _instance_network(instance) if instance else None
    if known:
        return network_named(known, node), ""
    usual = _scaled(device, node)
    return network_named(usual, node), f"the network between nodes is not given: taken as {usual} a node"


def _scaled(device: Device, node: int) -> str:
    """What nodes of this device usually have; a half-filled node is taken to have half the ports."""
    if not device.network:
        desk = device.name.startswith(("GeForce", "TITAN")) or device.kind in {DeviceKind.CPU, DeviceKind.UNIFIED}
        return DESK_NETWORK if desk else CENTRE_NETWORK
    ports, times, port = device.network.partition(" x ")
    if not times:
        return device.network
    return f"{max(1, int(ports) * node // device.devices_a_node)} x {port}"


def _instance_network(instance: Row) -> str | None:
    found = (row for row in table("instances") if row["name"] == instance["instance"])
    return next((f"{row['network_gigabits_per_second']} Gbit/s" for row in found), None)


def _host_memory_bytes(device: Device, instance: Row | None) -> float | None:
    if instance and instance["ram_gib"]:
        return float(instance["ram_gib"]) * 2**30
    return device.memory_bytes if device.kind in {DeviceKind.CPU, DeviceKind.UNIFIED} else None


def _host_cores(device: Device, instance: Row | None) -> int | None:
    # A virtual processor is one of a core's two threads on the accelerated instances of AWS, Azure and GCP.
    return int(instance["vcpus"]) // 2 if instance and instance["vcpus"] else device.cores or None
