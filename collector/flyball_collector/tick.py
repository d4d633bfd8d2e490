"""A checked record on its way through the collector."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_proto.layout import Layout
from flyball_proto.v1 import telemetry_pb2 as pb

_INDEX = re.compile(r"[0-9]{1,4}")  # limits the length of a host's text


class KnownLayout:
    """A layout with values that every record of it needs, computed once."""

    __slots__ = ("_gpu_indices", "count", "digest", "layout", "scales")

    def __init__(self, layout: Layout) -> None:
        self._gpu_indices: Mapping[str, int] | None = None  # computed on first use
        self.layout = layout
        self.digest = layout.digest
        self.count = len(layout.columns)
        self.scales: NDArray[np.float64] = np.array([c.metric.scale for c in layout.columns], dtype=np.float64)

    @property
    def gpu_indices(self) -> Mapping[str, int]:
        """Return the numbers of the host's GPUs by name, for numbers that only one GPU has.

        Each vendor counts from zero, so GPUs of two vendors may share a number. A slice (MIG) is not its whole GPU.
        """
        if self._gpu_indices is None:
            self._gpu_indices = _gpu_indices(self.layout)
        return self._gpu_indices


def _gpu_indices(layout: Layout) -> Mapping[str, int]:
    labelled = (dict(column.label_pairs()) for column in layout.columns if "index" in column.metric.labels)
    texts = {labels["gpu"]: labels["index"] for labels in labelled if "gpu" in labels}
    numbers = {gpu: int(text) for gpu, text in texts.items() if _INDEX.fullmatch(text) and not gpu.startswith("MIG-")}
    holders = Counter(numbers.values())
    return {gpu: number for gpu, number in numbers.items() if holders[number] == 1}


@dataclass(slots=True)
class Tick:
    """A host's data of one instant."""

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
    parsed_extras: pb.Record | None = None  # extras as a message; dropped once it is shown
