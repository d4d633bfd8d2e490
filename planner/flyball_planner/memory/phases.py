"""Moments of a training step, each with what stands in memory then."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.columns import Column

PARTS = (
    "weights", "gradients", "optimizer_states", "gathered_weights", "activations", "logits", "working",
    "optimizer_step", "communication_buffers", "key_value_cache",
)  # fmt: skip


class Phase(Struct, frozen=True):
    """One moment on one stage of the pipeline."""

    stage: str
    moment: str
    parts: Mapping[str, Column]


def phase(stage: str, moment: str, size: int, **given: Column) -> Phase:
    """A moment with the parts that are not given empty."""
    return Phase(stage, moment, {name: given.get(name, np.zeros(size)) for name in PARTS})
