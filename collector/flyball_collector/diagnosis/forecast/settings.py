"""Thresholds of the forecasts. They are the section `[diagnosis.forecast]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ForecastSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a trend is told."""

    memory_level: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Use of memory below which its exhaustion is not forecast.")
    ] = 0.92
    memory_covered: Annotated[
        float, Meta(gt=0.0, description="Growth before an exhaustion is forecast, as a multiple of the room left.")
    ] = 3.0
    memory_critical_seconds: Annotated[
        float, Meta(ge=0.0, description="An exhaustion nearer than this is critical, a later one a warning.")
    ] = 600.0
    leak_horizon_seconds: Annotated[
        float, Meta(gt=0.0, description="A leak that would take longer than this to fill memory is not told.")
    ] = 3 * 86_400.0
    pressure_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Share of 10 s in which some task stalls for memory: pressure.")
    ] = 0.1
    pressure_critical_ratio: Annotated[
        float,
        Meta(ge=0.0, le=1.0, description="Share of 30 s in which every task stalls: systemd-oomd kills (its default)."),
    ] = 0.6
    thermal_seconds: Annotated[
        float, Meta(gt=0.0, description="A thermal slowdown nearer than this is told before it begins.")
    ] = 120.0
    memory_slowdown_celsius: Annotated[
        float, Meta(gt=0.0, description="Memory temperature of a GPU at which it slows down, as no driver tells it.")
    ] = 95.0
    disk_warning_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Share of a file system left at which it counts as full.")
    ] = 0.05
    disk_critical_ratio: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Share of a file system left at which that is critical.")
    ] = 0.03
    stuck_seconds: Annotated[
        float, Meta(gt=0.0, description="Readings of a busy GPU that all stand still for this long are stuck.")
    ] = 120.0
    stuck_energy_seconds: Annotated[
        float, Meta(gt=0.0, description="An energy counter that stands still for this long under power is stuck.")
    ] = 30.0
