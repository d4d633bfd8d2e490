"""The accelerators in the inventory of the host."""

from collections.abc import Sequence

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_proto.v1 import telemetry_pb2 as pb


def read_gpus(accelerators: Sequence[Accelerator]) -> list[pb.Gpu]:
    """Return the devices of the newest readings, by vendor. It never calls a driver and so never hangs."""
    return [gpu for accelerator in accelerators for gpu in accelerator.describe()]
