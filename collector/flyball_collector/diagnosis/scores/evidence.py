"""Weighs evidence: adds the log-odds of independent sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST = 4.0
"""The most log-odds of one source. Its readings overlap and would otherwise count several times."""

SUPPORTS = 0.4
"""From these log-odds on, a source supports a bottleneck."""


class EvidenceSource(StrEnum):
    """The source of evidence."""

    STEPS = "steps"  # the training's step reports
    HOST = "host"  # the kernel
    GPU = "gpu"  # the driver
    PROCESSES = "processes"  # the kernel, for the training's own processes


@dataclass(frozen=True, slots=True)
class Ramp:
    """The log-odds of a reading: `below` up to `low`, `above` from `high` on, linear in between; 0 if unknown."""

    low: float
    high: float
    below: float
    above: float

    def __call__(self, values: Floats) -> Floats:
        """Return the log-odds of each value."""
        found: Floats = values - self.low
        found /= self.high - self.low
        np.maximum(found, 0.0, out=found)
        np.minimum(found, 1.0, out=found)
        found *= self.above - self.below
        found += self.below
        unknown = np.isnan(found)
        if unknown.any():
            found[unknown] = 0.0
        return found


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The assessment of one kind of bottleneck along its subjects."""

    kind: EventKind
    subjects: Subjects
    log_odds: Floats
    sources: NDArray[np.int8]  # number of sources that support it
    level: Floats  # 0 … 1: the share of the time, or of the resource
    known: Flags
    evidence: Mapping[str, Floats] = field(default_factory=dict)
    words: Callable[[int], str] = lambda _: ""
    most: Floats | None = None  # the highest confidence that the readings allow; None: any
    uncalibrated: Flags | None = None  # the calibration was fitted to other evidence; None: nowhere

    @cached_property
    def probability(self) -> Floats:
        """The probability before calibration."""
        return sigmoid(self.log_odds)


def weigh(
    kind: EventKind,
    subjects: Subjects,
    sources: Mapping[EvidenceSource, Floats],
    *,
    prior: float,
    level: Floats,
    known: Flags,
    evidence: Mapping[str, Floats],
    words: Callable[[int], str],
    most: Floats | None = None,
) -> Assessment:
    """Add the log-odds of all sources to the prior. Unknown evidence adds nothing."""
    log_odds = np.full(len(subjects), prior)
    supporting = np.zeros(len(subjects), dtype=np.int8)
    for found in sources.values():
        bounded = within(found, -MOST, MOST)
        log_odds += bounded
        supporting += (bounded >= SUPPORTS).view(np.int8)
    return Assessment(
        kind=kind,
        subjects=subjects,
        log_odds=log_odds,
        sources=supporting,
        level=np.minimum(np.fmax(level, 0.0), 1.0),  # unknown counts as none
        known=known,
        evidence=evidence,
        words=words,
        most=most,
    )


def within(values: Floats, least: float, most: float) -> Floats:
    """Clip values; unknown ones stay unknown. For few values, NumPy's own function takes four times as long."""
    found: Floats = np.maximum(values, least)
    return np.minimum(found, most, out=found)


def or_lost(usual: Floats, lost: Ramp, loss: Floats) -> Floats:
    """Return the log-odds of a share of time, or of its growth (`loss`) if that is known and larger."""
    return np.where(np.isnan(loss), usual, np.maximum(usual, lost(loss)))


def sigmoid(log_odds: Floats) -> Floats:
    """Return the probability for log-odds."""
    found = within(log_odds, -30.0, 30.0)
    np.exp(np.negative(found, out=found), out=found)
    found += 1.0
    return np.divide(1.0, found, out=found)


def percent(value: float) -> str:
    """Format a share of time for a sentence."""
    return "unknown" if np.isnan(value) else f"{100 * value:.0f} %"
