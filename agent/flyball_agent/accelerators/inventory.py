"""The accelerators of this host, for its inventory."""

from collections.abc import Sequence

from flyball_agent.accelerators.protocol import Accelerator
from flyball_proto.v1 import telemetry_pb2 as pb


def read_gpus(accelerators: Sequence[Accelerator]) -> list[pb.Gpu]:
    """What the newest readings found, vendor by vendor; never asks a driver, so it never hangs."""
    return [gpu for accelerator in accelerators for gpu in accelerator.describe()]
