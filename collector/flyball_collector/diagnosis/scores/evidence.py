"""How evidence is weighed: log-odds by group, added up over groups that do not depend on each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST = 4.0
"""Log-odds that one group may add: what its readings share, they would otherwise count several times."""

SUPPORTS = 0.4
"""From so many log-odds on a group speaks for a bottleneck."""


class Group(StrEnum):
    """Where evidence comes from."""

    STEPS = "steps"  # the training's own word
    HOST = "host"  # the kernel's
    GPU = "gpu"  # the driver's


@dataclass(frozen=True, slots=True)
class Ramp:
    """Log-odds of a reading: `below` up to `low`, `above` from `high` on, in between a line; unknown says nothing."""

    low: float
    high: float
    below: float
    above: float

    def __call__(self, values: Floats) -> Floats:
        """Of each value."""
        found: Floats = within((values - self.low) / (self.high - self.low), 0.0, 1.0)
        found *= self.above - self.below
        found += self.below
        found[np.isnan(found)] = 0.0
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What was found of one kind, along its subjects."""

    kind: EventKind
    subjects: Subjects
    log_odds: Floats
    groups: NDArray[np.int8]  # how many speak for it
    level: Floats  # 0 … 1: the share of the time, or of the resource
    known: Flags
    evidence: Mapping[str, Floats] = field(default_factory=dict)
    words: Callable[[int], str] = lambda _: ""

    @property
    def probability(self) -> Floats:
        """Before calibration."""
        return sigmoid(self.log_odds)


def weigh(
    kind: EventKind,
    subjects: Subjects,
    groups: Mapping[Group, Floats],
    *,
    prior: float,
    level: Floats,
    known: Flags,
    evidence: Mapping[str, Floats],
    words: Callable[[int], str],
) -> Assessment:
    """Add up; where nothing is known the odds are the prior's."""
    log_odds = np.full(len(subjects), prior)
    speaking = np.zeros(len(subjects), dtype=np.int8)
    for found in groups.values():
        bounded = within(found, -MOST, MOST)
        log_odds += bounded
        speaking += bounded >= SUPPORTS
    return Assessment(
        kind=kind,
        subjects=subjects,
        log_odds=log_odds,
        groups=speaking,
        level=within(np.where(np.isnan(level), 0.0, level), 0.0, 1.0),
        known=known,
        evidence=evidence,
        words=words,
    )


def within(values: Floats, least: float, most: float) -> Floats:
    """Values between bounds; unknown ones stay so. NumPy's own does this in four times the time for a few values."""
    found: Floats = np.maximum(values, least)
    return np.minimum(found, most, out=found)


def or_lost(usual: Floats, lost: Ramp, loss: Floats) -> Floats:
    """What a whole share of the time says, or what it grew by (`loss`), if that is known and says more."""
    return np.where(np.isnan(loss), usual, np.maximum(usual, lost(loss)))


def sigmoid(log_odds: Floats) -> Floats:
    """Probability of log-odds."""
    found: Floats = 1.0 / (1.0 + np.exp(-within(log_odds, -30.0, 30.0)))
    return found


def percent(value: float) -> str:
    """For sentences; unknown is said so."""
    return "unknown" if np.isnan(value) else f"{value:.0%}"
