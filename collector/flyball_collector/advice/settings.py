"""Thresholds of the advice: the section `[diagnosis.advice]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

GIB = 1024**3

Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(gt=0)]


class AdviceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for giving advice, and assumptions for values that were not measured."""

    least_gain: Annotated[
        float,
        Meta(
            ge=1,
            description="Advice is given only if the upper bound of its expected speed-up is at least this factor.",
        ),
    ] = 1.05
    data_wait_share: Annotated[
        Share, Meta(description="Share of a step that may be spent waiting for input before advice is given.")
    ] = 0.05
    communication_share: Annotated[
        Share, Meta(description="Share of a step that may be spent in collectives before advice is given.")
    ] = 0.1
    cpu_idle_share: Annotated[Share, Meta(description="Below this utilisation, a CPU counts as waiting.")] = 0.3
    worker_memory_bytes: Annotated[
        int, Meta(gt=0, description="Assumed RAM of one more loader worker, if it was not measured.")
    ] = 2 * GIB
    worker_shared_memory_bytes: Annotated[
        int, Meta(ge=0, description="Assumed space in /dev/shm of one more loader worker, if it was not measured.")
    ] = GIB // 4
    memory_reserve_share: Annotated[
        Share, Meta(description="Share of RAM and of /dev/shm that must stay free when workers are added.")
    ] = 0.2
    most_workers: Annotated[
        int, Meta(gt=0, description="Maximum number of loader workers to advise for each GPU (or training process).")
    ] = 8
    collective_timeout_seconds: Annotated[
        Seconds,
        Meta(description="Timeout of the training's collectives. An advised pause takes at most a quarter of it."),
    ] = 600.0
    gpu_hours_between_failures: Annotated[
        float,
        Meta(
            gt=0,
            description="Assumed mean GPU-hours between interruptions, from which the checkpoint interval is computed.",
        ),
    ] = 50_000.0
    checkpoint_change_share: Annotated[
        Share,
        Meta(description="A checkpoint interval is advised only if it differs from the current one by more than this."),
    ] = 0.25
