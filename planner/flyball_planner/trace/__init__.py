"""Traces a user's torch module without weights or a device, to determine its cost."""

from flyball_planner.trace.module import trace_module

__all__ = ["trace_module"]
