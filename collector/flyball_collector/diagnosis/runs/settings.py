"""Thresholds for runs and ranks: the section `[diagnosis.runs]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for slowness, hangs and waiting."""

    slower_ratio: Annotated[
        float,
        Meta(
            ge=0.02,
            le=5,
            description="A rank or run counts as slower if its steps take longer than before by this share.",
        ),
    ] = 0.12
    straggler_ratio: Annotated[
        float,
        Meta(
            ge=0.02,
            le=5,
            description="A rank is a straggler if its own work takes longer than that of the others by this share.",
        ),
    ] = 0.15
    straggler_seconds: Annotated[
        float,
        Meta(ge=0, description="Time for which a rank of a synchronous run must be a straggler before it is reported."),
    ] = 60.0
    run_slow_seconds: Annotated[
        float, Meta(ge=0, description="Time for which all ranks must be slower before a slow run is reported.")
    ] = 300.0
    hang_intervals: Annotated[
        float,
        Meta(
            ge=2,
            description=(
                "A run hangs after `hang_floor_seconds` plus this many times its longest interval without a step."
            ),
        ),
    ] = 5.0
    hang_floor_seconds: Annotated[
        float,
        Meta(
            ge=10,
            description="Time that is added to `hang_intervals`, so that a short pause is not a hang.",
        ),
    ] = 120.0
    end_after_seconds: Annotated[
        float,
        Meta(ge=0, description="A run has ended if it has had no process on a GPU and no client for this long."),
    ] = 30.0
    slow_start_seconds: Annotated[
        float,
        Meta(
            ge=60,
            description="A run is reported as a slow start if it has held GPUs for this long and completed no step.",
        ),
    ] = 1200.0
    communication_ratio: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Communication is reported if even the rank that waits least waits for this share of a step.",
        ),
    ] = 0.10
    imbalance_ratio: Annotated[
        float,
        Meta(
            gt=0,
            description="Imbalance is reported if tokens (or samples) per step spread by this share of their median.",
        ),
    ] = 0.10
    stall_ratio: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Regular stalls of a whole run are reported if they take at least this share of the time.",
        ),
    ] = 0.02
    outlier_share_ratio: Annotated[
        float,
        Meta(gt=0, lt=1, description="Single slow steps are reported if they take at least this share of the time."),
    ] = 0.05
