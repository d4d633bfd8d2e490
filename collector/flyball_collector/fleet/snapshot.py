"""What a renderer in another thread may read: the fleet as it stood at one instant."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.steps import StepTotals
from flyball_collector.tick import KnownLayout
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb


class HostView(NamedTuple):
    """A host at that instant. A tuple, for thousands are made at once; the messages are replaced, never changed."""

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
    """Hosts by name, and their readings in one array of their own; `generation` names the hosts' places in it."""

    generation: int
    hosts: tuple[HostView, ...]
    arena: NDArray[np.float64]
