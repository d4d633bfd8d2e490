"""A change that a rule proposes for a run, before anyone has decided about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flyball_collector.adjustments.adjustment import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The proposed change of one value on all ranks. It has passed the dry run."""

    run: str
    name: str
    lever: str
    value_from: Value
    to: Value
    rule: str
    because: str
    safety: int
    expected_low: float | None = None  # gain, as a factor; None: it prevents something
    expected_high: float | None = None
    predicted: Mapping[str, float] = field(default_factory=dict)  # by the dry run
    protects: bool = (
        False  # from a failure or a slowdown: it does not wait for a cool-down, and speed does not judge it
    )
    conditions: tuple[str, ...] = ()  # ids of the conditions behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedChange:
    """A change that a rule found and that must not be made, with the reason in words."""

    rule: str
    name: str
    to: Value
    reason: str
