"""What can be had: accelerators, processors, links, disks and prices, as data with sources."""

from flyball_planner.catalogue.bills import Bill, compare
from flyball_planner.catalogue.devices import devices, find_device, profiles, register_hardware
from flyball_planner.catalogue.files import load_hardware
from flyball_planner.catalogue.machines import machine
from flyball_planner.catalogue.prices import Offer, offers

__all__ = [
    "Bill",
    "Offer",
    "compare",
    "devices",
    "find_device",
    "load_hardware",
    "machine",
    "offers",
    "profiles",
    "register_hardware",
]
