"""Thresholds of the scores: the section `[diagnosis.scores]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_planner import base_formula


class ScoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the base scores, and thresholds for bottlenecks."""

    base_cpu_busy: Annotated[
        float, Meta(gt=0.0, le=1.0, description="CPU utilisation at which the base score of the CPU is 1.")
    ] = base_formula.CPU_BUSY
    base_memory_used: Annotated[
        float, Meta(gt=0.0, le=1.0, description="Share of memory used at which the base score of memory is 1.")
    ] = base_formula.MEMORY_USED
    base_disk_bytes_per_second: Annotated[
        float,
        Meta(
            gt=0.0, description="Bytes a second at which a disk's base score is 1, until the disk's own limit is known."
        ),
    ] = base_formula.DISK_BYTES_PER_SECOND
    base_latency_seconds: Annotated[
        float, Meta(gt=0.0, description="Round-trip time at which the base score of the network is 1.")
    ] = base_formula.LATENCY_SECONDS
    raise_probability: Annotated[
        float,
        Meta(
            gt=0.0,
            lt=1.0,
            description="A bottleneck is raised if its probability, before calibration, is at least this.",
        ),
    ] = 0.5
    keep_probability: Annotated[
        float, Meta(gt=0.0, lt=1.0, description="A bottleneck is cleared if its probability is below this.")
    ] = 0.35
    least_level: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1.0,
            description="A bottleneck is raised if it costs at least this share of the time, and cleared below half.",
        ),
    ] = 0.06
    smoothing_seconds: Annotated[
        float,
        Meta(gt=0.0, description="Time constant with which readings are smoothed before they are weighed as evidence."),
    ] = 2.5
    primary_dead_band: Annotated[
        float,
        Meta(
            ge=0.0, description="Another bottleneck becomes the primary one only if its score is larger by this share."
        ),
    ] = 0.1
    primary_dwell_seconds: Annotated[
        float,
        Meta(
            ge=0.0, description="Another bottleneck becomes the primary one only if its score is larger for this long."
        ),
    ] = 10.0
