"""What can be had: accelerators, processors, links, disks and prices, as data with sources."""

from flyball_planner.catalogue.devices import devices, find_device, profiles, register_hardware
from flyball_planner.catalogue.files import load_hardware
from flyball_planner.catalogue.machines import machine

__all__ = ["devices", "find_device", "load_hardware", "machine", "profiles", "register_hardware"]
