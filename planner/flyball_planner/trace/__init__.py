"""A user's own torch module, run without weights or device to learn what it costs."""

from flyball_planner.trace.module import trace_module

__all__ = ["trace_module"]
