"""Thresholds of the forecasts: the section `[diagnosis.forecast]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ForecastSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for reporting a trend or a level."""

    memory_level: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1.0,
            description="Growth that is not straight is forecast only if at least this share of the memory is used.",
        ),
    ] = 0.92
    memory_covered: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Growth that is not straight is forecast only if it is this multiple of the free memory.",
        ),
    ] = 3.0
    memory_critical_seconds: Annotated[
        float,
        Meta(ge=0.0, description="Memory exhaustion within this time may be critical. Later exhaustion is a warning."),
    ] = 600.0
    leak_horizon_seconds: Annotated[
        float, Meta(gt=0.0, description="A leak that would take longer than this to fill the memory is not reported.")
    ] = 3 * 86_400.0
    pressure_ratio: Annotated[
        float,
        Meta(
            ge=0.0, le=1.0, description="Memory pressure is reported if at least one task stalls in this share of 10 s."
        ),
    ] = 0.1
    pressure_critical_ratio: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1.0,
            description="Memory pressure is critical if all tasks stall in this share of 30 s (as for systemd-oomd).",
        ),
    ] = 0.6
    thermal_seconds: Annotated[
        float, Meta(gt=0.0, description="A thermal slowdown is forecast if it is expected within this time.")
    ] = 120.0
    memory_slowdown_celsius: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Assumed memory temperature at which a GPU slows down. Drivers do not report this limit.",
        ),
    ] = 95.0
    disk_warning_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="A file system is reported as full if less than this share is free.")
    ] = 0.05
    disk_critical_ratio: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1.0,
            description="A full file system is critical, not a warning, if less than this share is free.",
        ),
    ] = 0.03
    stuck_seconds: Annotated[
        float,
        Meta(gt=0.0, description="The readings of a busy GPU count as stuck if none of them changes for this long."),
    ] = 120.0
    stuck_energy_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="An energy counter counts as stuck if it does not change for this long while power is drawn.",
        ),
    ] = 30.0
