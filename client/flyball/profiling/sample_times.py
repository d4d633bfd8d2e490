"""The times at which samples are due."""

EARLY_SECONDS = (0.02, 0.1, 0.3)
"""Samples before the first interval is over, so that a short program has some."""

_CHEAP_SECONDS = 0.002

COST_SHARE = 0.008
"""Largest share of a core for samples once a second or slower: below 1 %, also with thousands of processes."""

MOST_SHARE = 0.2
"""The same for faster samples, which somebody has asked for."""


def seconds_until_next(elapsed: float, interval: float, cost: float) -> float:
    """Return the time until the next sample. `cost` is the CPU time of the last one.

    Samples are due at multiples of the interval after the start, so delays do not add up. Expensive samples are rarer.
    """
    for early in EARLY_SECONDS:
        if elapsed < early < interval and cost < _CHEAP_SECONDS:
            return early - elapsed
    wait = interval - elapsed % interval
    if wait < interval / 10:  # this sample was a little early
        wait += interval
    return max(wait, cost / cost_share(interval))


def cost_share(interval: float) -> float:
    """Return the largest share of a core: it grows with the requested rate."""
    return min(COST_SHARE / min(interval, 1.0), MOST_SHARE)
