"""Thresholds for comparing GPUs with their peers: the section `[diagnosis.peers]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class PeerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for GPUs that are slower or hotter than their peers, or used by others."""

    capped_clock_ratio: Annotated[
        float,
        Meta(
            gt=0, lt=1, description="A GPU at its power limit is capped if its clock is below this share of its peers'."
        ),
    ] = 0.9
    near_limit_ratio: Annotated[
        float, Meta(gt=0, le=1, description="A GPU is at its power limit from this share of the limit.")
    ] = 0.97
    hotter_celsius: Annotated[
        float, Meta(gt=0, description="A GPU this much hotter than its peers under the same load is cooled badly.")
    ] = 8.0
    tenant_memory_ratio: Annotated[
        float, Meta(gt=0, le=1, description="Another user's process is reported from this share of a GPU's memory.")
    ] = 0.02
    tenant_busy_ratio: Annotated[
        float, Meta(gt=0, le=1, description="Another user's process is reported from this share of a GPU's time.")
    ] = 0.05
