"""A copy of the fleet at one instant, which a renderer in another thread may read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.step_totals import StepTotals
from flyball_collector.tick import KnownLayout
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb


class HostView(NamedTuple):
    """A host at that instant. A named tuple, because thousands are made at once; its messages are never modified."""

    name: str
    agent_version: str
    connected: bool
    duplicate: bool
    layout: KnownLayout | None
    start: int
    received_ns: int
    clock_skew_seconds: float | None
    backlog_bytes: int
    unavailable: tuple[UnavailableReading, ...]
    tenancy: pb.Tenancy | None
    inventory: pb.Inventory | None
    extras: pb.Record | None
    steps: tuple[StepTotals, ...]


class Snapshot(NamedTuple):
    """Hosts sorted by name, and a copy of their readings. Positions are those of `generation`."""

    generation: int
    hosts: tuple[HostView, ...]
    arena: NDArray[np.float64]
