"""A record as it goes through the collector, once it has been checked at the door."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_proto.layout import Layout
from flyball_proto.v1 import telemetry_pb2 as pb


class KnownLayout:
    """A layout with what every record of it needs, computed once."""

    __slots__ = ("count", "digest", "layout", "scales")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.digest = layout.digest
        self.count = len(layout.columns)
        self.scales: NDArray[np.float64] = np.array([c.metric.scale for c in layout.columns], dtype=np.float64)


@dataclass(slots=True)
class Tick:
    """Everything a host says of one instant."""

    host: str
    epoch: bytes
    sequence: int
    layout: KnownLayout
    values: NDArray[np.int64]  # scaled as the layout declares
    valid: NDArray[np.bool_] | None  # None: every column is known
    agent_ns: int
    boot_ns: int
    corrected_ns: int  # collector time of the sample
    received_ns: int
    silences: int  # digests; 0: none
    tenancy: int
    extras: bytes  # a Record with only steps, events and processes; b"" when there are none
    live: bool  # newest of its host; False for replay
    told: pb.Record | None = None  # extras as a message; let go of once it is shown
