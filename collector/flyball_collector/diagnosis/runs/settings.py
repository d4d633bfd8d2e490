"""Thresholds for runs and ranks: the section `[diagnosis.runs]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for slowness, hangs and waiting."""

    slower_ratio: Annotated[
        float, Meta(ge=0.02, le=5, description="A rank or run is slower if its steps take longer by this share.")
    ] = 0.12
    straggler_ratio: Annotated[
        float, Meta(ge=0.02, le=5, description="A rank is a straggler if its own work takes longer by this share.")
    ] = 0.15
    straggler_seconds: Annotated[
        float, Meta(ge=0, description="How long a rank of a synchronous run must be a straggler before it is reported.")
    ] = 60.0
    run_slow_seconds: Annotated[
        float, Meta(ge=0, description="How long all ranks must be slower before a slow run is reported.")
    ] = 300.0
    hang_intervals: Annotated[
        float, Meta(ge=2, description="A run hangs after this many of its longest intervals without a step.")
    ] = 5.0
    hang_floor_seconds: Annotated[
        float, Meta(ge=10, description="A run never hangs before this time without a step.")
    ] = 120.0
    slow_start_seconds: Annotated[
        float, Meta(ge=60, description="A run that has completed no step after this time is reported as a slow start.")
    ] = 1200.0
    communication_ratio: Annotated[
        float, Meta(gt=0, lt=1, description="Share of the step in which even the slowest rank waits for collectives.")
    ] = 0.10
    imbalance_ratio: Annotated[
        float, Meta(gt=0, description="Spread of the ranks' tokens (or samples) per step, relative to their median.")
    ] = 0.10
    outlier_share_ratio: Annotated[
        float, Meta(gt=0, lt=1, description="Share of the time that single slow steps must take to be reported.")
    ] = 0.05
