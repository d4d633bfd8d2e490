"""Links that are assumed if a machine does not specify them."""

from flyball_planner.catalogue.hardware import DeviceLink

PCIE = DeviceLink("PCIe 3.0 x16", 15.75e9)  # every accelerator since 2012 has at least this slot
ETHERNET = DeviceLink("10 Gbit/s Ethernet", 1.25e9, 50e-6)  # typical for a workstation
