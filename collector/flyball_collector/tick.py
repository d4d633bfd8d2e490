"""A record as it goes through the collector, once it has been checked at the door."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_proto.layout import Layout
from flyball_proto.v1 import telemetry_pb2 as pb

_INDEX = re.compile(r"[0-9]{1,4}")  # what hosts say is bounded


class KnownLayout:
    """A layout with what every record of it needs, computed once."""

    __slots__ = ("_gpu_indices", "count", "digest", "layout", "scales")

    def __init__(self, layout: Layout) -> None:
        self._gpu_indices: Mapping[str, int] | None = None  # until somebody asks
        self.layout = layout
        self.digest = layout.digest
        self.count = len(layout.columns)
        self.scales: NDArray[np.float64] = np.array([c.metric.scale for c in layout.columns], dtype=np.float64)

    @property
    def gpu_indices(self) -> Mapping[str, int]:
        """The numbers of the host's GPUs by their names, where each has a number of its own.

        Makers count from zero each, so GPUs of two makers may share a number; and a slice (MIG) is not its whole GPU.
        """
        if self._gpu_indices is None:
            self._gpu_indices = _gpu_indices(self.layout)
        return self._gpu_indices


def _gpu_indices(layout: Layout) -> Mapping[str, int]:
    labelled = (dict(column.label_pairs()) for column in layout.columns if "index" in column.metric.labels)
    told = {labels["gpu"]: labels["index"] for labels in labelled if "gpu" in labels}
    numbers = {gpu: int(text) for gpu, text in told.items() if _INDEX.fullmatch(text) and not gpu.startswith("MIG-")}
    holders = Counter(numbers.values())
    return {gpu: number for gpu, number in numbers.items() if holders[number] == 1}


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
    unavailable: int  # digests; 0: none
    tenancy: int
    extras: bytes  # a Record with only steps, events and processes; b"" when there are none
    live: bool  # newest of its host; False for replay
    told: pb.Record | None = None  # extras as a message; let go of once it is shown
