"""Computes the speed-up of the whole from the change of a part (Amdahl's law)."""

from flyball_collector.advice.advice import Gain

MOST = 1000.0
"""No larger factor is reported."""


def amdahl(share: float, factor: float) -> float:
    """Return the speed-up of the whole if a part that takes `share` of its time becomes `factor` times as fast."""
    share = min(max(share, 0.0), 1.0)
    rest = 1.0 - share + share / max(factor, 1.0)
    return min(1.0 / rest, MOST) if rest > 0 else MOST


def removal(share: float, removable: tuple[float, float] = (0.5, 1.0)) -> Gain:
    """Return the speed-up if between two parts of a share are removed: 1 / (1 − share × removable)."""
    low, high = (min(max(share, 0.0), 0.999) * part for part in removable)
    return Gain(1.0 / (1.0 - low), min(1.0 / (1.0 - high), MOST))
