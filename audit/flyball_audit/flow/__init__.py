"""The flow of values: what an expression may be (a loss on a device, a loader, a number), found without running it."""

from flyball_audit.flow.engine import Flow
from flyball_audit.flow.values import Tag, Value

__all__ = ["Flow", "Tag", "Value"]
