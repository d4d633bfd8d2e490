"""Probes: one file each, and the explicit list of them in `catalogue`."""
