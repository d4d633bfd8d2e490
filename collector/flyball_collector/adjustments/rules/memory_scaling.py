"""Predicts the memory peak of a rank with another micro-batch: a fixed part, and a part for each sample."""

from collections.abc import Sequence
from dataclasses import dataclass

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.declared.declared_values import SharedValue, is_number, number_of
from flyball_planner.interval import Interval

MOST_FIXED = 0.8
"""The largest share of a peak that is assumed to be independent of the micro-batch, if it was not measured. In
mixed-precision training with Adam, weights, gradients and optimizer states take 16 bytes a parameter (ZeRO, arXiv
1910.02054), and activations usually at least a quarter of that."""

FIXED_ERROR = 0.05
"""Error of a prediction from the measured fixed part: the allocator rounds, and sequences differ in length."""

SLOPE_ERROR = 0.1
"""Error of a prediction from two measured peaks."""


@dataclass(frozen=True, slots=True)
class PeakFacts:
    """The highest peak of any rank, and the micro-batch to which it belongs: the largest one that ran."""

    peak_bytes: float
    micro: float
    fixed_bytes: float | None = None  # allocated between steps: weights and optimizer states
    sample_bytes: float | None = None  # growth for each sample, between two measured sizes


def peak_facts(value: SharedValue, peak_bytes: float | None, history: Sequence[Adjustment]) -> PeakFacts | None:
    """Return what is known about the memory of a run; None without the framework's peak.

    Allocators keep the highest peak until the script resets it. So a peak is one of the largest size of this attempt.
    """
    sizes = [number_of(each) for each in value.by_rank.values()]
    if not peak_bytes or peak_bytes <= 0 or not all(sizes):
        return None
    changes = [one for one in history if one.name == value.name and is_number(one.value_to) and one.effect is not None]
    sizes += [number_of(size) for one in changes for size in (one.value_from, one.value_to)]
    fixed = fixed_bytes(value)  # the smallest: then a larger micro-batch is not underestimated
    return PeakFacts(
        peak_bytes,
        max(sizes),
        fixed if 0.0 < fixed < peak_bytes else None,
        next((slope for one in reversed(changes) if (slope := _slope(one)) is not None), None),
    )


def _slope(one: Adjustment) -> float | None:
    """Return the growth for each sample. Only a growth shows it, because a peak never falls."""
    effect, grown = one.effect, number_of(one.value_to) - number_of(one.value_from)
    if effect is None or effect.peak_bytes_before is None or effect.peak_bytes_after is None or grown <= 0:
        return None
    slope = (effect.peak_bytes_after - effect.peak_bytes_before) / grown
    return slope if slope > 0 else None


def fixed_bytes(value: SharedValue | None) -> float:
    """Return the smallest fixed part that a rank has measured; 0 if none has."""
    return next(iter(value.measured("fixed_bytes")), 0.0) if value is not None else 0.0


def predict_peak(facts: PeakFacts, micro: float) -> Interval:
    """Return the peak with another micro-batch."""
    ratio = micro / facts.micro
    if facts.fixed_bytes is not None:
        peak = facts.fixed_bytes + (facts.peak_bytes - facts.fixed_bytes) * ratio
        return Interval.around(peak, FIXED_ERROR, FIXED_ERROR)
    if facts.sample_bytes is not None:
        peak = max(facts.peak_bytes + (micro - facts.micro) * facts.sample_bytes, 0.1 * facts.peak_bytes)
        return Interval.around(peak, SLOPE_ERROR, SLOPE_ERROR)
    ends = sorted(facts.peak_bytes * (fixed + (1.0 - fixed) * ratio) for fixed in (0.0, MOST_FIXED))
    return Interval(ends[0], sum(ends) / 2.0, ends[1])
