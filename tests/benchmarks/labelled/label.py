"""Label an episode: a cause counts only if removing it makes the loop at least a tenth faster."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

HARM = 1.10
"""Speed without the cause ÷ speed with it, from which on it is a bottleneck."""

SAME = 0.05
"""Speeds that differ by less are the same."""


class Use(StrEnum):
    """The use of an episode."""

    SINGLE = "single"  # one cause, which did harm
    MIXED = "mixed"  # two, each of which did harm beside the other
    QUIET = "quiet"  # nothing was done, or what was done changed nothing
    DROPPED = "dropped"  # neither clearly harmful nor clearly harmless, or the loop was not steady


class Phase(msgspec.Struct, frozen=True):
    """A stretch of an episode and which causes were on; `steps_per_second` is `None` where it is not known."""

    begin: float
    end: float
    on: tuple[str, ...]
    steps_per_second: float | None = None


class Label(msgspec.Struct, frozen=True):
    """The verdict on an episode; `gains` is how much faster the loop became without each cause."""

    use: Use
    why: str
    gains: Mapping[str, tuple[float, ...]]


def label(causes: Sequence[str], phases: Sequence[Phase], *, meant_quiet: bool = False) -> Label:
    """Judge by the phases that differ from the full one by a single cause.

    A cause that is meant to be harmless counts as such unless the loop was slower with it than both before and after:
    a shared machine changes its speed by itself, and a change on one side only is not an effect of the cause.
    """
    full = next(phase for phase in phases if phase.on == tuple(causes))
    if any(phase.steps_per_second in {None, 0.0} for phase in phases):
        return Label(Use.DROPPED, "the loop's speed is not known", {})
    gains = {cause: _gains(cause, full, phases) for cause in causes}
    if meant_quiet:
        harmful = any(min(found) > 1 + SAME for found in gains.values())
        return Label(*((Use.DROPPED, "meant to be harmless, but was not") if harmful else (Use.QUIET, "")), gains)
    if all(gains.values()) and all(min(found) >= HARM for found in gains.values()):
        return Label(Use.SINGLE if len(causes) == 1 else Use.MIXED, "", gains)
    if len(causes) == 1 and all(abs(found - 1) <= SAME for found in gains[causes[0]]):
        return Label(Use.QUIET, "harmless", gains)
    return Label(Use.DROPPED, "not clearly harmful" if len(causes) == 1 else "not both harmful", gains)


def _gains(cause: str, full: Phase, phases: Sequence[Phase]) -> tuple[float, ...]:
    without = tuple(other for other in full.on if other != cause)
    assert full.steps_per_second
    return tuple(phase.steps_per_second / full.steps_per_second for phase in phases
                 if phase.on == without and phase.steps_per_second)  # fmt: skip
