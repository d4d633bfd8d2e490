"""Thresholds of the scores. They are the section `[diagnosis.scores]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ScoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as a full base score, and when a bottleneck is told."""

    base_cpu_busy: Annotated[
        float, Meta(gt=0.0, le=1.0, description="Busy share of the CPUs at which the base score of the CPU is 1.")
    ] = 0.8
    base_memory_used: Annotated[
        float, Meta(gt=0.0, le=1.0, description="Used share of memory at which the base score of memory is 1.")
    ] = 0.75
    base_disk_bytes_per_second: Annotated[
        float,
        Meta(gt=0.0, description="Rate of writes at which a disk's base score is 1, until it has written faster."),
    ] = 50e6
    base_latency_seconds: Annotated[
        float, Meta(gt=0.0, description="Round trip at which the base score of the network is 1.")
    ] = 0.1
    raise_probability: Annotated[
        float, Meta(gt=0.0, lt=1.0, description="Weighed probability from which on a bottleneck is told.")
    ] = 0.5
    keep_probability: Annotated[
        float, Meta(gt=0.0, lt=1.0, description="Probability below which a bottleneck that was told is over.")
    ] = 0.35
    least_level: Annotated[
        float, Meta(ge=0.0, le=1.0, description="Share of the time that a bottleneck must cost to be told.")
    ] = 0.06
    smoothing_seconds: Annotated[
        float, Meta(gt=0.0, description="Time constant with which readings are smoothed before they are weighed.")
    ] = 2.5
    primary_dead_band: Annotated[
        float,
        Meta(ge=0.0, description="By how much another bottleneck must be larger to become the primary one."),
    ] = 0.1
    primary_dwell_seconds: Annotated[float, Meta(ge=0.0, description="… and for how long, without a break.")] = 60.0
