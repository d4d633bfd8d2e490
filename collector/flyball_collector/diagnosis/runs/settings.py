"""Thresholds for runs and ranks."""

from typing import Annotated

import msgspec
from msgspec import Meta


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as slow, as a hang, as too much waiting."""

    slower_ratio: Annotated[
        float, Meta(ge=0.02, le=5, description="A rank or run is slower when its steps take this much longer.")
    ] = 0.12
    straggler_ratio: Annotated[
        float, Meta(ge=0.02, le=5, description="A rank straggles when its own work takes this much longer.")
    ] = 0.15
    straggler_seconds: Annotated[
        float, Meta(ge=0, description="How long it must do so in a synchronous run, where nothing changed.")
    ] = 60.0
    run_slow_seconds: Annotated[
        float, Meta(ge=0, description="How long all ranks must be slower before the run is called slow.")
    ] = 300.0
    hang_intervals: Annotated[
        float, Meta(ge=2, description="A run hangs after this many of its longest intervals without a step.")
    ] = 5.0
    hang_floor_seconds: Annotated[float, Meta(ge=10, description="Before this time without a step no run hangs.")] = (
        120.0
    )
    slow_start_seconds: Annotated[
        float, Meta(ge=60, description="A run that has made no step for so long starts too slowly.")
    ] = 1200.0
    communication_ratio: Annotated[
        float, Meta(gt=0, lt=1, description="Share of the step in which even the slowest rank waits for collectives.")
    ] = 0.10
    imbalance_ratio: Annotated[
        float, Meta(gt=0, description="Spread of the ranks' tokens (or samples) per step against their median.")
    ] = 0.10
    outlier_share_ratio: Annotated[
        float, Meta(gt=0, lt=1, description="Share of the time that single slow steps must take to be told.")
    ] = 0.05
