"""Thresholds of the advice: the section `[diagnosis.advice]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

GIB = 1024**3

Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(gt=0)]


class AdviceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a change is worth a word, and what is assumed where nothing was measured."""

    least_gain: Annotated[
        float, Meta(ge=1, description="A speed-up that even at best stays below this is not worth a word.")
    ] = 1.05
    data_wait_share: Annotated[Share, Meta(description="Share of a step that waiting for input may take.")] = 0.05
    communication_share: Annotated[Share, Meta(description="Share of a step that collectives may take.")] = 0.1
    cpu_idle_share: Annotated[Share, Meta(description="Busy share below which a CPU counts as waiting.")] = 0.3
    worker_memory_bytes: Annotated[
        int, Meta(gt=0, description="RAM that one more loader worker is assumed to take where it was not measured.")
    ] = 2 * GIB
    worker_shared_memory_bytes: Annotated[
        int, Meta(ge=0, description="Space in /dev/shm that one more loader worker is assumed to take.")
    ] = GIB // 4
    memory_reserve_share: Annotated[
        Share, Meta(description="Share of RAM and of /dev/shm that more workers must leave free.")
    ] = 0.2
    most_workers: Annotated[int, Meta(gt=0, description="Workers for each GPU (or training process) at most.")] = 8
    collective_timeout_seconds: Annotated[
        Seconds, Meta(description="After how long collectives give up; a pause stays below a quarter of it.")
    ] = 600.0
    gpu_hours_between_failures: Annotated[
        float, Meta(gt=0, description="Mean GPU hours between interruptions, for the checkpoint interval.")
    ] = 50_000.0
    checkpoint_change_share: Annotated[
        Share, Meta(description="How far a checkpoint interval may be from the best before it is mentioned.")
    ] = 0.25
