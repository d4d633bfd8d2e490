"""Decides if measured times show a law of growth. Without one there is no single forecast, only a range of laws."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_planner.scaling.fitting import ScalingFit
from flyball_planner.scaling.laws import CONSTANT
from flyball_reports.figures import percent, plural

CLEAR = 0.9  # a law of this probability counts as found
PLAUSIBLE = 0.02  # laws below this probability are left out of the range
POOR_FIT = 0.25  # typical error above which no law describes the times
FEWEST_GROWING = 3  # sizes at which most of the time grows; two of them fit every law
LEAST_SPAN = 8.0  # from the smallest to the largest of these sizes
LONGER = (4, 3, 2)  # factors between recommended sizes, tried in this order
LONGEST_SECONDS = 600.0  # of a recommended run, as far as the times show
MOST_SIZES = 4
USUAL_REPEATS, MANY_REPEATS, NOISY = 3, 5, 0.10


class ScalingVerdict(Struct, frozen=True):
    """The law that the times show, or what forbids one."""

    law: str | None  # None: the times do not show one
    obstacles: tuple[str, ...]
    laws: tuple[str, ...]  # that fit, most probable first
    sizes: tuple[int, ...]  # to run next; empty if there is a law
    repeats: int


def verdict_of(found: ScalingFit) -> ScalingVerdict:
    """Return the law if the times show it clearly, else what forbids it and which sizes would show it."""
    obstacles = tuple(_obstacles(found))
    probable = sorted(found.probabilities.items(), key=lambda each: -each[1])
    laws = tuple(name for name, share in probable if share >= PLAUSIBLE)
    repeats = MANY_REPEATS if found.error > NOISY else USUAL_REPEATS
    return ScalingVerdict(
        None if obstacles else found.law, obstacles, laws, _next_sizes(found, laws) if obstacles else (), repeats
    )


def forecasts_by_law(found: ScalingFit, laws: Sequence[str], sizes: Sequence[float]) -> dict[str, list[Interval]]:
    """Return the forecast of each law as if it were the true one."""
    return {law: found.of_law(law).curve(sizes) for law in laws}


def _obstacles(found: ScalingFit) -> Iterator[str]:
    if found.error > POOR_FIT:
        yield f"no law describes the times well (typical error {percent(found.error)}); look for a cause of the noise"
    if found.likeliest.law is CONSTANT:
        yield "the time hardly grows within these sizes, so they do not show how it grows beyond them"
        return
    growing = _growing_sizes(found)
    share = found.likeliest.fixed_share
    if share > 0.5:
        yield f"{percent(share)} of the largest run does not grow with the size, such as the start of the program"
    elif len(growing) < FEWEST_GROWING:
        yield f"most of the time grows at only {plural(len(growing), 'size')}; a law needs {FEWEST_GROWING}"
    elif growing[-1] < LEAST_SPAN * growing[0]:
        factor = growing[-1] / growing[0]
        yield f"the sizes differ by a factor of only {factor:.3g}; a law needs at least {LEAST_SPAN:g}"
    if found.probabilities[found.law] < CLEAR:
        named = [(name, each) for name, each in found.probabilities.items() if each >= PLAUSIBLE]
        words = ", ".join(f"{name} ({percent(each)})" for name, each in sorted(named, key=lambda each: -each[1]))
        yield f"several laws fit the times: {words}"


def _growing_sizes(found: ScalingFit) -> list[float]:
    """Return the sizes at which more than half of the time grows, by the likeliest law."""
    likeliest = found.likeliest
    sizes = sorted({point.size for point in found.points})
    growth = likeliest.law.growth(np.array(sizes)) / likeliest.law.growth(np.array([found.largest]))
    parts = (1 - likeliest.fixed_share) * growth
    return [size for size, part in zip(sizes, parts, strict=True) if part > likeliest.fixed_share]


def _next_sizes(found: ScalingFit, laws: Sequence[str]) -> tuple[int, ...]:
    """Return larger sizes that show the law, as far as none of the laws that fit makes them take too long."""
    for longer in LONGER:
        wanted = [round(found.largest * longer**power) for power in range(MOST_SIZES)]
        seconds = [max(each) for each in zip(*(found.of_law(law).typical_seconds(wanted) for law in laws), strict=True)]
        kept = [size for size, each in zip(wanted, seconds, strict=True) if each <= LONGEST_SECONDS]
        if kept and kept[-1] >= LEAST_SPAN * kept[0] and len(kept) >= FEWEST_GROWING:
            return tuple(kept)
    smaller = {max(1, round(found.largest / LONGER[0] ** power)) for power in range(MOST_SIZES)}
    return tuple(sorted(smaller))  # runs of the largest size take long already
