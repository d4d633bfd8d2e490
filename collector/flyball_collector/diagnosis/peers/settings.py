"""Thresholds for GPUs beside their peers."""

from typing import Annotated

import msgspec
from msgspec import Meta


class PeerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as slower, hotter, or somebody else's."""

    capped_clock_ratio: Annotated[
        float,
        Meta(gt=0, lt=1, description="A GPU at its power limit is capped below this share of its peers' clock."),
    ] = 0.9
    near_limit_ratio: Annotated[
        float, Meta(gt=0, le=1, description="A GPU is at its power limit from this share of it on.")
    ] = 0.97
    hotter_celsius: Annotated[
        float, Meta(gt=0, description="A GPU that is this much hotter than its peers at equal work is cooled badly.")
    ] = 8.0
    tenant_memory_ratio: Annotated[
        float, Meta(gt=0, le=1, description="From this share of the GPU's memory on another user's process counts.")
    ] = 0.02
    tenant_busy_ratio: Annotated[
        float, Meta(gt=0, le=1, description="From this share of the GPU's time on another user's process counts.")
    ] = 0.05
