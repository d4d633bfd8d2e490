"""Defines rules of adjustments: pure functions from the case of a run and one of its values to a change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.declared.declared_values import SharedValue
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.diagnosis.event import Event

REVERSAL_SECONDS = 1800.0
"""A change is not reversed in this time. Otherwise two rules could alternate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """The finding of a rule."""

    to: Value
    because: str
    gain: tuple[float, float] | None = None  # expected speed afterwards, as factors
    predicted: Mapping[str, float] = field(default_factory=dict)  # what the rule knows better than the dry run
    events: tuple[Event, ...] = ()  # conditions behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustmentRule:
    """One reason to change one lever. It is evaluated for each value that is this lever."""

    name: str
    lever: str
    evidence: str  # when it proposes the change, for people
    change: str  # for people
    inverse: str  # what takes it back, for people
    safety: int  # the lowest class; a value may declare a higher one
    source: str
    find: Callable[[RunCase, SharedValue], RuleChange | None]
    hold_seconds: float  # how long the finding must last
    protects: bool = False  # from a failure or a slowdown: the speed does not judge it
    reversal_seconds: float = REVERSAL_SECONDS  # after a change of the same value in the other direction


def percent(share: float) -> str:
    """Format a share for people."""
    return f"{100 * share:.0f} %"


def gigabytes(count: float) -> str:
    """Format bytes for people."""
    return f"{count / 1e9:.1f} GB"
