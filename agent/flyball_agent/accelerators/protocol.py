"""What an accelerator is: a probe that also knows its devices, their processes, and what befell them."""

from collections.abc import Sequence
from typing import Protocol

from flyball_agent.probes.probe import Probe
from flyball_proto.v1 import telemetry_pb2 as pb


class Accelerator(Probe, Protocol):
    """All devices of one vendor.

    Only `read` calls the driver, and so only `read` can hang. Everything else answers at once from what the newest
    finished `read` left behind, and may be asked from another thread while a `read` hangs.
    """

    @property
    def processes(self) -> Sequence[pb.GpuProcess]:
        """Who used the devices at the newest reading; without amounts while the next one is under way."""
        ...

    def take_events(self) -> list[pb.HostEvent]:
        """What befell the devices since this was last asked; each event is given out once."""
        ...

    def describe(self) -> list[pb.Gpu]:
        """The devices of the newest reading; empty before the first one.

        Ask again when the columns of a `Sample` change: then a device came, went, or was split.
        """
        ...
