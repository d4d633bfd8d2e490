"""The catalogue: accelerators, processors, links, disks and prices, as data with sources."""
