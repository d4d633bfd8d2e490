"""What can be had: accelerators, processors, links, disks and prices, as data with sources."""
