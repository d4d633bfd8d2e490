"""The section `hardware`: a device by name, and the machines around it."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_profile
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.catalogue.machines import machine
from flyball_reports.errors import InputError
from flyball_reports.specification.sections import SpecificationFaults

GIB = 1024.0**3


def read_machine(values: Mapping[str, Any], faults: SpecificationFaults) -> TrainingMachine | None:
    """Return the machine; nothing if it has a fault, which is reported."""
    name = values.get("device")
    if name is None:
        return None
    found = _machine(name, values, faults)
    if found is None:
        return None
    memory = values["host_memory_gb"] * GIB if "host_memory_gb" in values else found.host_memory_bytes
    cores = values.get("host_cores", found.host_cores)
    profile = find_profile(name)
    if profile:  # a profile also names the format to plan for
        found = replace(found, device=replace(found.device, default_format=profile.default_format))
    if "efficiency" in values:
        found = replace(found, device=replace(found.device, efficiency=values["efficiency"]))
    return replace(found, host_memory_bytes=memory, host_cores=cores)


def _machine(name: str, values: Mapping[str, Any], faults: SpecificationFaults) -> TrainingMachine | None:
    try:
        found = machine(name, values.get("devices"), values.get("devices_per_node"), values.get("network"))
        return _of_nodes(name, found, values, faults) if "nodes" in values else found
    except InputError as error:
        faults.add("hardware.device" if not _known(name) else "hardware.network", str(error))
        return None


def _of_nodes(
    name: str, found: TrainingMachine, values: Mapping[str, Any], faults: SpecificationFaults
) -> TrainingMachine:
    """Return that many machines; the number of devices may only repeat what follows from it."""
    nodes, given = values["nodes"], values.get("devices")
    if given is None:
        return machine(name, nodes * found.devices_a_node, found.devices_a_node, values.get("network"))
    if "devices_per_node" not in values and given % nodes == 0:
        return machine(name, given, given // nodes, values.get("network"))
    if given != nodes * found.devices_a_node:
        faults.add(
            "hardware.nodes", f"{nodes} machines with {found.devices_a_node} devices each are not {given} devices"
        )
    return found


def _known(name: str) -> bool:
    try:
        machine(name)
    except InputError:
        return False
    return True
