"""What a change of a part brings to the whole."""

from flyball_collector.advice.advice import Gain

MOST = 1000.0
"""No factor is believed beyond this."""


def amdahl(share: float, factor: float) -> float:
    """The speed-up of the whole when a part that takes `share` of its time becomes `factor` times as fast."""
    share = min(max(share, 0.0), 1.0)
    rest = 1.0 - share + share / max(factor, 1.0)
    return min(1.0 / rest, MOST) if rest > 0 else MOST


def removal(share: float, removable: tuple[float, float] = (0.5, 1.0)) -> Gain:
    """The speed-up when between two parts of a share go away: 1 / (1 − share × removable)."""
    low, high = (min(max(share, 0.0), 0.999) * part for part in removable)
    return Gain(1.0 / (1.0 - low), min(1.0 / (1.0 - high), MOST))
