"""The section `hardware`: a device by name, and the machines around it."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from flyball_planner.catalogue.devices import SIZE, find_profile, is_added
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind, TrainingMachine
from flyball_planner.catalogue.machines import is_instance, machine
from flyball_planner.catalogue.names import words
from flyball_reports.errors import InputError, read_fault
from flyball_reports.specification.sections import SpecificationFaults
from flyball_reports.specification.source_value import SourceValue

GIB = 1024.0**3
COUNTED = re.compile(
    r"(?P<before>[1-9]\d{0,5})\s*[x×](?!tx?\b)\s*(?P<of>\S.*)|(?P<name>.+?)(?:\s+[x×]|(?<=\d)x(?=\d+$)|\s*:)\s*"
    r"(?P<after>[1-9]\d{0,5})",
    re.IGNORECASE,
)
"""A number of devices with their name, as people write them: 8xH100, H100 x 8, H100x8, H100:8; not 9070 XT."""
SLICE = re.compile(
    r"(?:google\s+)?(?:cloud\s+)?(?:tpu[\s-]*v?|v)(?P<kind>3|4|5p|5e|5litepod|6e|7x)-(?P<number>[1-9]\d{0,4})",
    re.IGNORECASE,
)
"""A slice of a TPU pod. Its number counts cores, two for each chip, or for v5e and v6e chips, which have one
(docs.cloud.google.com/tpu/docs, accelerator types; tpu7x: AI-Hypercomputer/tpu-recipes, training/ironwood)."""
BY_CORES = frozenset({"3", "4", "5p", "7x"})
COMPLETE = re.compile(r"(?:nvidia\s+)?[dh]gx[\s-]+(?!spark|station)[a-z]+\d+.*", re.IGNORECASE)
"""A complete machine, such as DGX H100, with as many devices as its node has."""
SAME_SIZE = 0.1  # people round, and count in powers of ten
SHARED_MEMORY = frozenset({DeviceKind.CPU, DeviceKind.UNIFIED})


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
    if values.get("device") is None or faults.has("hardware.hardware_file"):
        return None
    if _named(values["device"], own) is None and not is_added(values["device"]):
        values = _sized(_counted(values, faults))
    name = values["device"]
    device = _named(name, own)
    found = _machine(device or name, values, faults)
    if found is not None and "memory_gb" in values:
        found = _of_memory(name, found, values, faults)
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


def named_machine(name: str, devices: int | None = None) -> TrainingMachine:
    """Return the machine of a name as specifications have it, such as 8xH100, p5.48xlarge or v5e-8.

    A profile is one device here, also that of a pod.
    """
    faults = SpecificationFaults([], SourceValue({}, 0))
    count = 1 if devices is None and find_profile(name) else devices
    found = read_machine({"device": name, **({} if count is None else {"devices": count})}, faults)
    if found is None or faults.problems:
        raise InputError("; ".join(each.message for each in faults.problems))
    return found


def _named(name: str, own: Sequence[ComputeDevice]) -> ComputeDevice | None:
    return next((each for each in own if words(each.name) == words(name)), None)


def _counted(values: Mapping[str, Any], faults: SpecificationFaults) -> Mapping[str, Any]:
    """Separate the number of devices from a name such as 8xH100; beside `nodes` it is that of one machine."""
    written = values["device"].strip()
    chips = SLICE.fullmatch(written)
    if chips:
        name, number = _slice(chips)
        return _numbered("devices", number, {**values, "device": name}, f"{written} ({number} chips)", faults)
    found = COUNTED.fullmatch(written)
    if found is None:
        return _complete(values)
    name, number = found["of"] or found["name"], int(found["before"] or found["after"])
    if _is_complete(name) and not {"nodes", "devices"} & values.keys():
        return {**values, "nodes": number, "device": name}
    key = "devices_per_node" if "nodes" in values and "devices" not in values else "devices"
    return _numbered(key, number, {**values, "device": name}, written, faults)


def _numbered(
    key: str, number: int, values: Mapping[str, Any], written: str, faults: SpecificationFaults
) -> Mapping[str, Any]:
    """Return the section with the number that a name states, unless the section states another one."""
    if values.get(key, number) != number:
        faults.add(f"hardware.{key}", f"{values[key]} contradicts {written}; keep one of them")
    return {key: number, **values}


def _slice(found: re.Match[str]) -> tuple[str, int]:
    """Return the chip of a slice such as v5p-128, and how many of them it has on all of its machines."""
    kind, number = found["kind"].lower(), int(found["number"])
    return f"TPU v{'5e' if kind == '5litepod' else kind}", max(1, number // 2) if kind in BY_CORES else number


def _is_complete(name: str) -> bool:
    """Return True for complete machines: two p4d.24xlarge are sixteen devices."""
    return COMPLETE.fullmatch(name.strip()) is not None or is_instance(name)


def _complete(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return one complete machine where neither devices nor machines are counted."""
    counted = {"devices", "nodes", "devices_per_node"} & values.keys()
    whole = COMPLETE.fullmatch(values["device"].strip()) and not counted
    return {**values, "nodes": 1} if whole else values


def _sized(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Separate the memory from the name of a chip that may have any, such as M3 Max 64GB."""
    name = values["device"]
    size, bare = SIZE.search(name), SIZE.sub("", name).strip()
    if size is None or not bare or "memory_gb" in values or _known(name):
        return values
    if not _known(bare) or machine(bare).device.kind not in SHARED_MEMORY:
        return values
    return {**values, "device": bare, "memory_gb": float(size["gigabytes"])}


def _of_memory(
    name: str, found: TrainingMachine, values: Mapping[str, Any], faults: SpecificationFaults
) -> TrainingMachine | None:
    """Return the machine with the variant of its device that has this memory; a shared memory may have any size."""
    device, wanted = found.device, values["memory_gb"]
    if abs(wanted * GIB - device.memory_bytes) <= SAME_SIZE * device.memory_bytes:
        return found
    if device.kind in SHARED_MEMORY:
        return replace(found, device=replace(device, memory_bytes=wanted * GIB), host_memory_bytes=wanted * GIB)
    variant = f"{SIZE.sub('', name)} {wanted:g}GB"
    if SIZE.search(name) is None and _known(variant):
        return _machine(variant, values, faults)
    own = "name another device, or describe yours in a hardware_file"
    faults.add("hardware.memory_gb", f"{device.name} has {device.memory_bytes / GIB:g} GB, not {wanted:g}; {own}")
    return None


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
