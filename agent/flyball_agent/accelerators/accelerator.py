"""The interface of accelerators: probes that also report devices, processes and events."""

from collections.abc import Sequence
from typing import Protocol

from flyball_agent.probes.probe import Probe
from flyball_proto.v1 import telemetry_pb2 as pb


class Accelerator(Probe, Protocol):
    """All devices of one vendor.

    Only `read` calls the driver, and so only `read` can hang. Everything else returns results of the newest finished
    `read` at once, and may be called from another thread while a `read` hangs.
    """

    @property
    def processes(self) -> Sequence[pb.GpuProcess]:
        """The processes on the devices at the newest reading, without amounts while the next one is in progress."""
        ...

    def take_events(self) -> list[pb.HostEvent]:
        """Remove and return the events of the devices since the last call."""
        ...

    def describe(self) -> list[pb.Gpu]:
        """Return the devices of the newest reading; empty before the first one.

        Call it again when the columns of a `ProbeSample` change: then a device came, went, or was partitioned.
        """
        ...
