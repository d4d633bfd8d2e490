"""Fits growth laws to measured times. A forecast weighs all laws instead of choosing one.

A time is `scale · ((1 − v) · growth(n) + v)`, with growth 1 at the largest measured size and v the share that does not
grow; its error is a factor. For each law and v, the likelihood over scale and error has a closed form. So the
probability of each is exact on a grid of v, and forecasts are drawn from all of them in proportion.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.scaling.laws import CONSTANT, LAWS, Law, Numbers
from flyball_reports.errors import InputError

FEWEST_SIZES = 3  # two sizes fit every law
SMALLEST_FIXED_SHARE = 1e-8
GRID = 240
PRIOR_ERROR = 0.02  # clocks and schedulers disturb every measurement by about this share
PRIOR_MEASUREMENTS = 2.0  # weight of that prior, in measurements
DRIFT_A_DECADE = 0.05  # error of a factor per decade beyond the measurements, from caches, page tables and allocators
DRAWS = 10_000
SEED = 20_240_901  # fixed, so that repeating a forecast gives the same result
NEGLIGIBLE = 1e-6  # less probable forms are not drawn


class Point(Struct, frozen=True):
    """The size and time of one measured run."""

    size: float
    seconds: float


class Component(Struct, frozen=True):
    """A law with a fixed share: its probability, and its scale for the measured times."""

    law: Law
    fixed_share: float
    weight: float
    log_scale: float


class ScalingFit(Struct, frozen=True, dict=True):
    """The result of a fit."""

    points: tuple[Point, ...]
    components: tuple[Component, ...]
    error: float  # typical relative error of one measurement around the most likely component
    freedom: float

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Return the probability of each law."""
        found = dict.fromkeys((law.name for law in LAWS), 0.0)
        for component in self.components:
            found[component.law.name] += component.weight
        return found

    @property
    def law(self) -> str:
        """Return the most likely law."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def likeliest(self) -> Component:
        """Return the most likely form of the most likely law."""
        return max((each for each in self.components if each.law.name == self.law), key=lambda each: each.weight)

    @property
    def largest(self) -> float:
        """Return the largest measured size."""
        return max(point.size for point in self.points)

    def seconds(self, size: float) -> Interval:
        """Return the 90 % interval of a run of this size."""
        return self.curve([size])[0]

    def curve(self, sizes: Sequence[float]) -> list[Interval]:
        """Return the intervals of many sizes, for a plot."""
        wanted = np.array(sizes, dtype=float)
        if not np.all(wanted >= 1):
            raise InputError("a size must be at least 1")
        draws = np.random.default_rng(SEED)
        chosen = draws.choice(len(self.components), size=DRAWS, p=[each.weight for each in self.components])
        errors = self.error * draws.standard_t(self.freedom, DRAWS) * np.sqrt(1 + 1 / len(self.points))
        drift = DRIFT_A_DECADE * draws.standard_normal(DRAWS)
        logs = np.array([each.log_scale + _log_shape(each, wanted, self.largest) for each in self.components])[chosen]
        decades = np.maximum(0.0, np.log10(wanted / self.largest))
        drawn = logs + errors[:, None] + drift[:, None] * decades
        ends = np.exp(np.quantile(drawn, [0.05, 0.5, 0.95], axis=0))
        return [Interval(float(low), float(middle), float(high)) for low, middle, high in ends.T]

    def typical_seconds(self, sizes: Sequence[float]) -> list[float]:
        """Return the times of the most likely form, which is quicker than the middle of all of them."""
        form = self.likeliest
        seconds = np.exp(form.log_scale + _log_shape(form, np.array(sizes, dtype=float), self.largest))
        return [float(each) for each in seconds]

    def of_law(self, name: str) -> "ScalingFit":
        """Return the fit as if this law were the true one."""
        kept = [each for each in self.components if each.law.name == name]
        total = sum(each.weight for each in kept)
        components = tuple(replace(each, weight=each.weight / total) for each in kept)
        return ScalingFit(self.points, components, self.error, self.freedom)


def fit(points: Sequence[Point]) -> ScalingFit:
    """Weigh all laws by the measured times.

    >>> found = fit([Point(size, 0.2 + size * 1e-4) for size in (100, 1_000, 10_000, 50_000) for _ in range(3)])
    >>> found.law
    'O(n)'
    >>> forecast = found.seconds(1e9)
    >>> 0.5e5 < forecast.low <= forecast.middle <= forecast.high < 10e5
    True
    """
    sizes, logs = _checked(points)
    freedom = len(points) - 1 + PRIOR_MEASUREMENTS
    weighed = [_weighed(law, sizes, logs, freedom) for law in LAWS]
    evidence = np.concatenate([each.evidence for each in weighed])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    squares = np.concatenate([each.squares for each in weighed])[int(evidence.argmax())]
    forms = [(each.law, *form) for each in weighed for form in zip(each.shares, each.log_scales, strict=True)]
    kept = weights > NEGLIGIBLE
    components = tuple(
        Component(law, float(share), float(weight), float(log_scale))
        for (law, share, log_scale), weight, keeps in zip(forms, weights / weights[kept].sum(), kept, strict=True)
        if keeps
    )
    return ScalingFit(tuple(points), components, error=float(np.sqrt(squares / freedom)), freedom=freedom)


class _Weighed(Struct, frozen=True):
    """One law with every fixed share of the grid."""

    law: Law
    shares: Numbers
    log_scales: Numbers
    squares: Numbers
    evidence: Numbers  # logarithm of the probability of each


def _weighed(law: Law, sizes: Numbers, logs: Numbers, freedom: float) -> _Weighed:
    shares, masses = (np.ones(1), np.ones(1)) if law is CONSTANT else _fixed_shares()
    residuals = logs - np.log(_shape(law, shares[:, None], sizes, sizes.max()))
    log_scales = residuals.mean(axis=1)
    spread = ((residuals - log_scales[:, None]) ** 2).sum(axis=1)
    squares = spread + PRIOR_MEASUREMENTS * PRIOR_ERROR**2
    return _Weighed(law, shares, log_scales, squares, np.log(masses) - freedom / 2 * np.log(squares))


def _checked(points: Sequence[Point]) -> tuple[Numbers, Numbers]:
    wrong = [point for point in points if not (point.size >= 1 and point.seconds > 0 and np.isfinite(point.seconds))]
    if wrong:
        raise InputError(f"invalid measurement: a size of {wrong[0].size:g} in {wrong[0].seconds:g} s")
    if len({point.size for point in points}) < FEWEST_SIZES:
        raise InputError(f"a law needs at least {FEWEST_SIZES} different sizes; measure more")
    return np.array([point.size for point in points], float), np.log([point.seconds for point in points])


def _fixed_shares() -> tuple[Numbers, Numbers]:
    """Return shares on a grid with their prior probabilities.

    Half of the prior is uniform over the magnitudes of the share, half over the share itself. A fixed part may be
    anything from nothing to nearly everything, but growth that hides below the noise is not more likely than its share.
    """
    small = np.geomspace(SMALLEST_FIXED_SHARE, 0.5, 2 * GRID // 3)
    large = 1 - np.geomspace(0.5, 1e-4, GRID // 3 + 1)[1:]
    shares = np.concatenate([small, large])
    edges = np.concatenate([[SMALLEST_FIXED_SHARE], (shares[1:] + shares[:-1]) / 2, [1.0]])
    cumulative = 0.5 * np.log(edges / SMALLEST_FIXED_SHARE) / -np.log(SMALLEST_FIXED_SHARE) + 0.5 * edges
    return shares, np.diff(cumulative)


def _shape(law: Law, fixed_share: Numbers | float, sizes: Numbers, largest: float) -> Numbers:
    growth = law.growth(sizes) / law.growth(np.array([largest]))
    return (1 - fixed_share) * growth + fixed_share


def _log_shape(component: Component, sizes: Numbers, largest: float) -> Numbers:
    shaped: Numbers = np.log(_shape(component.law, component.fixed_share, sizes, largest))
    return shaped
