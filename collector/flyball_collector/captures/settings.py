"""Settings of captures."""

from typing import Annotated

import msgspec
from msgspec import Meta


class CapturesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of captures: stacks, traces and memory of ranks."""

    on_hang: Annotated[
        bool, Meta(description="Capture the stacks of a run's ranks when it hangs, once for each hang.")
    ] = True
    max_bytes: Annotated[
        int, Meta(gt=0, description="Maximum size of all captures in the store. Beyond it, the oldest are deleted.")
    ] = 1024 * 1024 * 1024
    capture_max_bytes: Annotated[int, Meta(gt=0, description="Maximum size of one capture.")] = 64 * 1024 * 1024
