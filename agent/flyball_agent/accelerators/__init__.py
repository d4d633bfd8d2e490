"""Accelerators: one module a vendor behind `protocol.Accelerator`, and the explicit list of them in `catalogue`."""
