"""Machines: a number of devices, distributed over nodes with a network between them."""

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device, find_profile, is_added
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind, DeviceLink, TrainingMachine
from flyball_planner.catalogue.links import link_named, network_named
from flyball_planner.catalogue.tables import Row, table
from flyball_reports.errors import InputError

CENTRE_NETWORK = "1 x Ethernet 100GbE"
DESK_NETWORK = "1 x Ethernet 10GbE"
"""Networks that are assumed if nothing is known: for data-centre cards, and for GeForce, Apple and processors."""

UNKNOWN_LINK = "PCIe 4.0 x16"


def machine(
    name: str | ComputeDevice,
    devices: int | None = None,
    devices_a_node: int | None = None,
    network: str | DeviceLink | None = None,
) -> TrainingMachine:
    """Return a machine with some devices, or with those of a cloud instance type, over as many nodes as needed.

    The network may be a name ("InfiniBand NDR"), ports per node ("8 x InfiniBand NDR"), a node's rate ("1600 Gbps") or
    a device's ("400 Gb/s per GPU"). What is not specified is assumed, and the assumptions are listed.
    """
    instance = _instance(name) if isinstance(name, str) else None
    device = name if isinstance(name, ComputeDevice) else find_device(instance["device"] if instance else name)
    in_instance = max(1, int(float(instance["devices"]))) if instance else None
    count = _positive("devices", devices, in_instance or _usual_count(name))
    node = _positive("devices_a_node", devices_a_node, in_instance or device.devices_a_node)
    device, assumed_link = _linked(device, alone=min(count, node) == 1)
    assumed_place = "" if instance or devices_a_node else _one_desk(device, min(count, node))
    between, assumed_network = _between(device, node, network, instance) if count > node else (None, "")
    return TrainingMachine(
        device=device,
        devices=count,
        devices_a_node=node,
        between_nodes=between,
        host_memory_bytes=_host_memory_bytes(device, instance),
        host_cores=_host_cores(device, instance),
        assumptions=tuple(filter(None, (assumed_place, assumed_link, assumed_network))),
    )


def _one_desk(device: ComputeDevice, together: int) -> str:
    """Return the assumption that several desktop cards are in one machine; empty if there is only one."""
    if together == 1 or not _is_desktop(device):
        return ""
    several = f"{together} × {device.name}"
    return f"{several} are assumed to be in one machine; with one card per machine, set devices_per_node to 1"


def _is_desktop(device: ComputeDevice) -> bool:
    return device.name.startswith(("GeForce", "TITAN", "Radeon RX", "Arc"))


def _positive(key: str, given: int | None, otherwise: int) -> int:
    value = otherwise if given is None else given
    if value < 1:
        raise InputError(f"{key} must be at least 1, not {value}")
    return value


def _usual_count(name: str | ComputeDevice) -> int:
    profile = find_profile(name) if isinstance(name, str) else None
    return profile.devices if profile else 1


def _instance(name: str) -> Row | None:
    if is_added(name):
        return None
    return next((row for row in table("prices") if _instance_name(row["instance"]) == _instance_name(name)), None)


def _instance_name(name: str) -> str:
    """Return a name of an instance type without Azure's prefix and remarks, as people write it.

    What is priced per GPU keeps its remark: an HGX H100 has eight.
    """
    bare = name if "(per " in name else name.partition(" (")[0]
    return bare.strip().casefold().removeprefix("standard_")


def is_instance(name: str) -> bool:
    """Return True if this is a cloud's instance type, which is a complete machine."""
    return _instance(name) is not None


def _linked(device: ComputeDevice, *, alone: bool) -> tuple[ComputeDevice, str]:
    if device.within_node or alone:
        return device, ""
    assumption = f"the link between {device.name}s within a node is unknown; {UNKNOWN_LINK} is assumed"
    return replace(device, within_node=link_named(UNKNOWN_LINK)), assumption


def _between(
    device: ComputeDevice, node: int, network: str | DeviceLink | None, instance: Row | None
) -> tuple[DeviceLink, str]:
    if isinstance(network, DeviceLink):
        return network, ""
    if network:
        return network_named(network, node), ""
    known = _instance_network(instance) if instance else None
    if known:
        return network_named(known, node), ""
    usual = _scaled(device, node)
    return network_named(usual, node), f"no network between nodes given: {usual} per node is assumed"


def _scaled(device: ComputeDevice, node: int) -> str:
    """Return the usual network of a node; a half-filled node is assumed to have half the ports."""
    if not device.network:
        desk = _is_desktop(device) or device.kind in {DeviceKind.CPU, DeviceKind.UNIFIED}
        return DESK_NETWORK if desk else CENTRE_NETWORK
    ports, times, port = device.network.partition(" x ")
    if not times:
        return device.network
    return f"{max(1, int(ports) * node // device.devices_a_node)} x {port}"


def _instance_network(instance: Row) -> str | None:
    found = (row for row in table("instances") if row["name"] == instance["instance"])
    return next((f"{row['network_gigabits_per_second']} Gbit/s" for row in found), None)


def _host_memory_bytes(device: ComputeDevice, instance: Row | None) -> float | None:
    if device.host_memory_bytes:
        return device.host_memory_bytes
    if instance and instance["ram_gib"]:
        return float(instance["ram_gib"]) * 2**30
    return device.memory_bytes if device.kind in {DeviceKind.CPU, DeviceKind.UNIFIED} else None


def _host_cores(device: ComputeDevice, instance: Row | None) -> int | None:
    # A virtual processor is one of a core's two threads on the accelerated instances of AWS, Azure and GCP.
    return int(instance["vcpus"]) // 2 if instance and instance["vcpus"] else device.cores or None
