"""Thresholds of the forecasts: the section `[diagnosis.forecast]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ForecastSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for reporting a trend or a level."""

    memory_level: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Memory exhaustion is not forecast below this share used.")
    ] = 0.92
    memory_covered: Annotated[
        float, Meta(gt=0.0, description="Growth required for a forecast of exhaustion, as a multiple of the room left.")
    ] = 3.0
    memory_critical_seconds: Annotated[
        float, Meta(ge=0.0, description="Exhaustion within this time is critical. Later exhaustion is a warning.")
    ] = 600.0
    leak_horizon_seconds: Annotated[
        float, Meta(gt=0.0, description="A leak that needs longer than this to fill memory is not reported.")
    ] = 3 * 86_400.0
    pressure_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Memory pressure: share of 10 s in which some task stalls for memory.")
    ] = 0.1
    pressure_critical_ratio: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1.0,
            description="Critical pressure: share of 30 s in which all tasks stall (systemd-oomd's default).",
        ),
    ] = 0.6
    thermal_seconds: Annotated[
        float, Meta(gt=0.0, description="A thermal slowdown is forecast if it is nearer than this.")
    ] = 120.0
    memory_slowdown_celsius: Annotated[
        float,
        Meta(gt=0.0, description="Memory temperature at which a GPU slows down. Drivers do not report this limit."),
    ] = 95.0
    disk_warning_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="A file system is full if less than this share is free.")
    ] = 0.05
    disk_critical_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="A full file system is critical if less than this share is free.")
    ] = 0.03
    stuck_seconds: Annotated[
        float, Meta(gt=0.0, description="A busy GPU is stuck if all its readings stay the same for this long.")
    ] = 120.0
    stuck_energy_seconds: Annotated[
        float, Meta(gt=0.0, description="An energy counter is stuck if it does not change for this long under power.")
    ] = 30.0
