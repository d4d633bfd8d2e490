"""Accelerators: one module per vendor, behind the interface `accelerator.Accelerator`, listed in `catalogue`."""
