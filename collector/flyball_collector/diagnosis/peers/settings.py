"""Thresholds for comparing GPUs with their peers: the section `[diagnosis.peers]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class PeerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for GPUs that are slower or hotter than their peers, or used by others."""

    capped_clock_ratio: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="A GPU at its power limit is reported if its clock is below this share of its peers' clock.",
        ),
    ] = 0.9
    near_limit_ratio: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="A GPU counts as being at its power limit if it draws at least this share of the limit.",
        ),
    ] = 0.97
    hotter_celsius: Annotated[
        float,
        Meta(gt=0, description="A GPU is reported if it is hotter than its peers under the same load by this much."),
    ] = 8.0
    tenant_memory_ratio: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="Another user's process is reported if it holds at least this share of the GPU's memory.",
        ),
    ] = 0.02
    tenant_busy_ratio: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="Another user's process is reported if it uses at least this share of the GPU's time.",
        ),
    ] = 0.05
