"""The section `hardware`: devices by name or from a file of one's own, and the machines around them."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_profile
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.catalogue.machines import machine
from flyball_reports.errors import InputError
from flyball_reports.specification.sections import Findings

GIB = 1024.0**3


def read_machine(said: Mapping[str, Any], findings: Findings) -> Machine | None:
    """The machine, or nothing where it has a fault, which is told."""
    name = said.get("device")
    if name is None:
        return None
    found = _machine(name, said, findings)
    if found is None:
        return None
    memory = said["host_memory_gb"] * GIB if "host_memory_gb" in said else found.host_memory_bytes
    cores = said.get("host_cores", found.host_cores)
    profile = find_profile(name)
    if profile:  # a profile's device comes with the format to plan for
        found = replace(found, device=replace(found.device, default_format=profile.default_format))
    return replace(found, host_memory_bytes=memory, host_cores=cores)


def _machine(name: str, said: Mapping[str, Any], findings: Findings) -> Machine | None:
    try:
        return machine(name, said.get("devices"), said.get("devices_per_node"), said.get("network"))
    except InputError as error:
        findings.add("hardware.device" if not _known(name) else "hardware.network", str(error))
        return None


def _known(name: str) -> bool:
    try:
        machine(name)
    except InputError:
        return False
    return True
