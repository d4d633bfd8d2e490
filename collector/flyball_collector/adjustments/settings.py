"""Settings of adjustments: what the operator allows at all."""

from typing import Annotated

import msgspec
from msgspec import Meta

OFF = "adjustments are off on this collector (adjustments.enabled, or `flyball up --adjust`)"


class AdjustmentsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of adjustments: changes of running trainings."""

    enabled: Annotated[
        bool,
        Meta(description="Allow adjustments of running trainings. The agents' settings must allow them too."),
    ] = False
    policy: Annotated[
        str,
        Meta(
            pattern="^(off|ask|auto)$",
            description="The most that any run may have. off: nothing is changed; ask: a person approves each change; "
            "auto: changes up to auto_safety need nobody.",
        ),
    ] = "ask"
    auto_safety: Annotated[
        int,
        Meta(
            ge=1,
            le=2,
            description="Highest class of safety that policy auto changes without a person. 1: no effect on results; "
            "2: equal results up to rounding. Classes 3 and 4 always need a person.",
        ),
    ] = 1
    max_per_hour: Annotated[int, Meta(ge=1, le=60, description="Maximum number of changes of one run in an hour.")] = 3
    cooldown_minutes: Annotated[
        float,
        Meta(
            ge=0,
            description="Time between two changes of one run. It doubles after each change that was taken back. Below "
            "ten minutes, evidence need not last as long either; with 0, rules propose at once.",
        ),
    ] = 10.0
    watch_steps: Annotated[int, Meta(ge=20, description="Steps after a change over which its effect is measured.")] = (
        100
    )
    approval_minutes: Annotated[
        float, Meta(gt=0, description="A proposed change that nobody answers in this time expires.")
    ] = 60.0
    hosts: Annotated[
        tuple[str, ...],
        Meta(description="Patterns of host names, such as `node-*`, that may take part. Empty: all hosts."),
    ] = ()
    disabled_levers: Annotated[
        tuple[str, ...], Meta(description="Levers that are never used, such as `micro_batch` or `pause`.")
    ] = ()
