"""The section `hardware`: a device by name, and the machines around it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_profile
from flyball_planner.catalogue.hardware import ComputeDevice, TrainingMachine
from flyball_planner.catalogue.machines import machine
from flyball_planner.catalogue.names import words
from flyball_reports.errors import InputError, read_fault
from flyball_reports.specification.sections import SpecificationFaults

GIB = 1024.0**3


def own_devices(
    values: Mapping[str, Any], files: Callable[[str], str], faults: SpecificationFaults
) -> tuple[ComputeDevice, ...]:
    """Return the devices of the file that the section names. They are known to this specification only."""
    name = values.get("hardware_file")
    if name is None:
        return ()
    from flyball_planner.catalogue.files import read_hardware  # noqa: PLC0415  rarely needed

    try:
        return read_hardware(files(name), PurePath(name).suffix, name)
    except UnicodeDecodeError:
        faults.add("hardware.hardware_file", f"{name} is not valid UTF-8")
    except OSError as error:
        faults.add("hardware.hardware_file", read_fault(name, error))
    except InputError as error:
        faults.add("hardware.hardware_file", str(error))
    return ()


def read_machine(
    values: Mapping[str, Any], faults: SpecificationFaults, own: Sequence[ComputeDevice] = ()
) -> TrainingMachine | None:
    """Return the machine; nothing if it has a fault, which is reported. Devices of its `own` come first."""
    name = values.get("device")
    if name is None or faults.has("hardware.hardware_file"):
        return None
    device = next((each for each in own if words(each.name) == words(name)), None)
    found = _machine(device or name, values, faults)
    if found is None:
        return None
    memory = values["host_memory_gb"] * GIB if "host_memory_gb" in values else found.host_memory_bytes
    cores = values.get("host_cores", found.host_cores)
    profile = None if device else find_profile(name)
    if profile:  # a profile also names the format to plan for
        found = replace(found, device=replace(found.device, default_format=profile.default_format))
    if "efficiency" in values:
        found = replace(found, device=replace(found.device, efficiency=values["efficiency"]))
    return replace(found, host_memory_bytes=memory, host_cores=cores)


def _machine(
    name: str | ComputeDevice, values: Mapping[str, Any], faults: SpecificationFaults
) -> TrainingMachine | None:
    try:
        found = machine(name, values.get("devices"), values.get("devices_per_node"), values.get("network"))
        return _of_nodes(name, found, values, faults) if "nodes" in values else found
    except InputError as error:
        faults.add("hardware.device" if not _known(name) else "hardware.network", str(error))
        return None


def _of_nodes(
    name: str | ComputeDevice, found: TrainingMachine, values: Mapping[str, Any], faults: SpecificationFaults
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


def _known(name: str | ComputeDevice) -> bool:
    try:
        machine(name)
    except InputError:
        return False
    return True
