"""What is taken where a machine does not say how it is connected."""

from flyball_planner.catalogue.hardware import Link

PCIE = Link("PCIe 3.0 x16", 15.75e9)  # the slot that every accelerator since 2012 has
ETHERNET = Link("10 Gbit/s Ethernet", 1.25e9, 50e-6)  # what a workstation's board offers
