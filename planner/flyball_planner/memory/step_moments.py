"""The moments of a training step, each with the tensors in memory."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column

Labels = NDArray[np.object_]  # of str

PARTS = (
    "weights", "gradients", "optimizer_states", "gathered_weights", "cast_weights", "activations", "logits", "working",
    "optimizer_step", "communication_buffers", "key_value_cache",
)  # fmt: skip


class StepMoment(Struct, frozen=True):
    """One moment on one stage of the pipeline; parts that are not listed are empty."""

    stage: str
    moment: str
    parts: Mapping[str, Column]


class Peak(Struct, frozen=True):
    """The moment of the peak of each layout, with its parts."""

    stage: Labels
    moment: Labels
    parts: Mapping[str, Column]


def peak_of(moments: Iterable[StepMoment], size: int) -> Peak:
    """Return the peaks. Moments are processed one at a time, because thousands of layouts fill the caches."""
    stage, moment = np.full(size, "", dtype=object), np.full(size, "", dtype=object)
    most = np.full(size, -np.inf)
    parts = {name: np.zeros(size) for name in PARTS}
    for each in moments:
        total = sum(each.parts[name] for name in PARTS if name in each.parts)
        rows = np.flatnonzero(total > most)
        stage[rows], moment[rows], most[rows] = each.stage, each.moment, np.asarray(total)[rows]
        for name, column in parts.items():
            column[rows] = each.parts[name][rows] if name in each.parts else 0.0
    return Peak(stage, moment, parts)
