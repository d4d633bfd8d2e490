"""Thresholds of the scores: the section `[diagnosis.scores]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ScoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the base scores, and thresholds for bottlenecks."""

    base_cpu_busy: Annotated[
        float, Meta(gt=0.0, le=1.0, description="CPU utilisation at which the base score of the CPU is 1.")
    ] = 0.8
    base_memory_used: Annotated[
        float, Meta(gt=0.0, le=1.0, description="Share of memory used at which the base score of memory is 1.")
    ] = 0.75
    base_disk_bytes_per_second: Annotated[
        float,
        Meta(gt=0.0, description="Write rate at which a disk's base score is 1, until it has written faster."),
    ] = 50e6
    base_latency_seconds: Annotated[
        float, Meta(gt=0.0, description="Round trip at which the base score of the network is 1.")
    ] = 0.1
    raise_probability: Annotated[
        float, Meta(gt=0.0, lt=1.0, description="A bottleneck is raised from this probability, before calibration.")
    ] = 0.5
    keep_probability: Annotated[
        float, Meta(gt=0.0, lt=1.0, description="A bottleneck is cleared below this probability.")
    ] = 0.35
    least_level: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Share of the time that a bottleneck must cost to be raised.")
    ] = 0.06
    smoothing_seconds: Annotated[
        float, Meta(gt=0.0, description="Time constant for smoothing readings before they are weighed.")
    ] = 2.5
    primary_dead_band: Annotated[
        float,
        Meta(ge=0.0, description="Another bottleneck must be larger by this share to become the primary one."),
    ] = 0.1
    primary_dwell_seconds: Annotated[
        float, Meta(ge=0.0, description="Another bottleneck must be larger for this long to become the primary one.")
    ] = 60.0
