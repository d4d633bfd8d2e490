"""The collector's current state of one host."""

from dataclasses import dataclass

from flyball_collector.fleet.adjustment_outcomes import AdjustmentOutcome
from flyball_collector.fleet.events import HostEvent
from flyball_collector.tick import KnownLayout
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb


@dataclass(slots=True)
class HostState:
    """The live state of a host. Its readings are in the fleet's array at `start` … `start + layout.count`."""

    name: str
    agent_version: str = ""
    epoch: bytes = b""
    interval_ms: int = 1000
    boot_id: str = ""
    connected: bool = False  # a stream is open
    goodbye: bool = False
    layout: KnownLayout | None = None
    start: int = 0
    sequence: int = -1
    corrected_ns: int = 0  # of the newest record
    received_ns: int = 0
    clock_skew_seconds: float | None = None  # the host's wall clock minus the collector's
    backlog_bytes: int = 0
    unavailable: tuple[UnavailableReading, ...] = ()
    tenancy: pb.Tenancy | None = None
    inventory: pb.Inventory | None = None
    extras: pb.Record | None = None  # newest steps, events, GPU processes and outcomes
    events: tuple[HostEvent, ...] = ()  # the latest, oldest first
    outcomes: tuple[AdjustmentOutcome, ...] = ()  # the latest of adjustments, oldest first
    duplicate: bool = False  # two machines use this name

    def gpu_index_of(self, gpu: str) -> int | None:
        """Return the number of one of its GPUs, or `None`."""
        return None if self.layout is None else self.layout.gpu_indices.get(gpu)
