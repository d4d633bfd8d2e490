"""Moments of a training step, each with what stands in memory then."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.columns import Column

Words = NDArray[np.object_]  # of str

PARTS = (
    "weights", "gradients", "optimizer_states", "gathered_weights", "activations", "logits", "working",
    "optimizer_step", "communication_buffers", "key_value_cache",
)  # fmt: skip


class Phase(Struct, frozen=True):
    """One moment on one stage of the pipeline; what is not among its parts takes nothing then."""

    stage: str
    moment: str
    parts: Mapping[str, Column]


class Peak(Struct, frozen=True):
    """For each layout the moment that takes most, with its parts."""

    stage: Words
    moment: Words
    parts: Mapping[str, Column]


def peak_of(phases: Iterable[Phase], size: int) -> Peak:
    """The first of those that take most; each is forgotten before the next, since thousands of layouts fill caches."""
    stage, moment = np.full(size, "", dtype=object), np.full(size, "", dtype=object)
    most = np.full(size, -np.inf)
    parts = {name: np.zeros(size) for name in PARTS}
    for phase in phases:
        total = sum(phase.parts[name] for name in PARTS if name in phase.parts)
        rows = np.flatnonzero(total > most)
        stage[rows], moment[rows], most[rows] = phase.stage, phase.moment, np.asarray(total)[rows]
        for name, column in parts.items():
            column[rows] = phase.parts[name][rows] if name in phase.parts else 0.0
    return Peak(stage, moment, parts)
