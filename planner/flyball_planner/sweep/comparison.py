"""Decides if the configurations of a sweep differ by more than runs of the same configuration do."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.sweep.configurations import Value
from flyball_planner.sweep.trial import TrialOutcome

ASSUMED_NOISE = 0.05  # of runs that were not repeated, as a share of their time
ASSUMED_FREEDOM = 4.0  # how sure that is, in measurements
PRIOR_NOISE, PRIOR_FREEDOM = 0.02, 2.0  # clocks and schedulers disturb even equal runs
START_NOISE_SECONDS, SHORT_NOISE = 0.01, 0.15
"""Noise of runs that are mostly the start of a program, in seconds and as a share; the larger one counts. Means do not
reduce it, because other programs come and go. Starts of Python took 33 to 64 ms on one machine, and 150 to 400 ms on a
busy one."""
SHORT_SECONDS = 0.5  # a large part of shorter runs is the start of the program
SIGNIFICANT = 0.01  # a sweep without an effect is ranked this often
DRAWS = 20_000
SEED = 20_240_901
Numbers = NDArray[np.float64]


class SpeedComparison(Struct, frozen=True):
    """The spread of the configurations' speeds beside that of equal runs."""

    differs: bool
    spread: float  # fastest over slowest, minus 1
    noise: float  # typical difference between runs of one configuration
    repeated: bool  # False: the noise is an assumption
    idle_names: tuple[str, ...]  # whose values make no difference beyond the noise
    short_seconds: float | None = None  # typical time of runs that are mostly the start of a program; None: longer


class FailedValue(Struct, frozen=True):
    """A value that failed in every combination, while others succeeded."""

    name: str
    value: Value
    combinations: int
    failure: str  # of the first one


def compare_outcomes(outcomes: Sequence[TrialOutcome], *, programs: bool = False) -> SpeedComparison:
    """Compare the speeds of all configurations that succeeded; `programs` if each run has started one."""
    succeeded = [each for each in outcomes if not each.failure and each.patterns_per_second > 0]
    variance, freedom, repeated = _noise(succeeded)
    typical = float(np.median([each.seconds for each in succeeded])) if succeeded else 0.0
    short = programs and 0 < typical < SHORT_SECONDS
    common = max(START_NOISE_SECONDS / typical, SHORT_NOISE) ** 2 if short else 0.0
    speeds = np.array([_log_speed(each) for each in succeeded])
    runs = np.array([max(1, len(each.every_seconds)) for each in succeeded], dtype=float)
    certain = repeated or not _shows_noise(succeeded)  # else single runs differ by an unknown noise
    unequal = certain and len(speeds) > 1 and _unequal(speeds, runs, variance + float(runs.mean()) * common, freedom)
    noise = _Noise(variance, freedom, common, repeated)
    effective = {name: _has_effect(succeeded, speeds, name, noise) for name in _varied(succeeded)}
    return SpeedComparison(
        differs=unequal or any(effective.values()) or len(speeds) < 2,
        spread=float(np.exp(speeds.max() - speeds.min()) - 1) if len(speeds) else 0.0,
        noise=math.sqrt(variance + common) if certain or any(effective.values()) else float(speeds.std()),
        repeated=repeated,
        idle_names=tuple(name for name, has in effective.items() if not has),
        short_seconds=typical if short else None,
    )


def _shows_noise(outcomes: Sequence[TrialOutcome]) -> bool:
    """Return True if single runs are so many that what the effects of all names leave over shows the noise."""
    effects = sum(len({each.configuration[name] for each in outcomes}) - 1 for name in _varied(outcomes))
    return len(outcomes) - 1 - effects >= ASSUMED_FREEDOM


def failed_values(outcomes: Sequence[TrialOutcome]) -> list[FailedValue]:
    """Return the values that fail whatever the others are, if at least two combinations show it."""
    found = []
    for name in _varied(outcomes):
        by_value: dict[Value, list[TrialOutcome]] = {}
        for outcome in outcomes:
            by_value.setdefault(outcome.configuration[name], []).append(outcome)
        if all(each.failure for each in outcomes):
            continue
        for value, tried in by_value.items():
            if len(tried) > 1 and all(each.failure for each in tried):
                found.append(FailedValue(name, value, len(tried), tried[0].failure))
    return found


def _varied(outcomes: Iterable[TrialOutcome]) -> list[str]:
    values: dict[str, set[Value]] = {}
    for outcome in outcomes:
        for name, value in outcome.configuration.items():
            values.setdefault(name, set()).add(value)
    return sorted(name for name, each in values.items() if len(each) > 1)


def _log_speed(outcome: TrialOutcome) -> float:
    """Return the mean over all repeats, whose error is smaller than that of the median."""
    seconds = outcome.every_seconds or (outcome.seconds,)
    return math.log(outcome.patterns) - sum(map(math.log, seconds)) / len(seconds)


def _noise(outcomes: Sequence[TrialOutcome]) -> tuple[float, float, bool]:
    """Return the variance of the logarithm of equal runs, its degrees of freedom, and if it was measured."""
    repeated = [np.log(each.every_seconds) for each in outcomes if len(each.every_seconds) > 1]
    if not repeated:
        return ASSUMED_NOISE**2, ASSUMED_FREEDOM, False
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in repeated)
    freedom = sum(len(each) - 1 for each in repeated) + PRIOR_FREEDOM
    return (squares + PRIOR_FREEDOM * PRIOR_NOISE**2) / freedom, freedom, True


def _unequal(speeds: Numbers, runs: Numbers, variance: float, freedom: float) -> bool:
    """Return True if the speeds differ by more than the noise: an F-test."""
    mean = float((runs * speeds).sum() / runs.sum())
    between = float((runs * (speeds - mean) ** 2).sum()) / (len(speeds) - 1)
    return _probability(between / variance, len(speeds) - 1, freedom) < SIGNIFICANT


class _Noise(Struct, frozen=True):
    """The variance of the logarithm of equal runs."""

    variance: float  # of single runs
    freedom: float  # how sure that is, in measurements
    common: float  # of runs that follow each other, which their mean does not reduce
    measured: bool


def _has_effect(outcomes: Sequence[TrialOutcome], speeds: Numbers, name: str, noise: _Noise) -> bool:
    """Return True if the values of a name differ by more than the noise, each compared within equal other values."""
    blocks: dict[tuple[tuple[str, Value], ...], list[int]] = {}
    for row, outcome in enumerate(outcomes):
        others = tuple(each for each in outcome.configuration.items() if each[0] != name)
        blocks.setdefault(others, []).append(row)
    within = speeds.copy()
    for rows in blocks.values():
        within[rows] -= speeds[rows].mean()
    means, counts = _means([each.configuration[name] for each in outcomes], within)
    values = len(counts)
    runs = float(np.mean([max(1, len(each.every_seconds)) for each in outcomes]))
    between = runs * float((counts * means**2).sum()) / (values - 1)
    rest = len(outcomes) - len(blocks) - (values - 1)
    variance, freedom = noise.variance, noise.freedom
    if not noise.measured and rest >= ASSUMED_FREEDOM:  # what the effect leaves over shows the noise
        squares = float((within**2).sum() - (counts * means**2).sum())
        variance, freedom = max(squares / rest, PRIOR_NOISE**2), float(rest)
    variance += runs * float(counts.mean()) * noise.common
    return _probability(between / variance, values - 1, freedom) < SIGNIFICANT


def _means(values: Sequence[Value], numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the mean of the numbers for each value, and how many there are."""
    grouped: dict[Value, list[int]] = {}
    for row, value in enumerate(values):
        grouped.setdefault(value, []).append(row)
    means = np.array([numbers[rows].mean() for rows in grouped.values()])
    return means, np.array([len(rows) for rows in grouped.values()], dtype=float)


def _probability(ratio: float, above: float, below: float) -> float:
    """Return how often the ratio of two variances is at least this large by chance."""
    draws = np.random.default_rng(SEED)
    drawn = (draws.chisquare(above, DRAWS) / above) / (draws.chisquare(below, DRAWS) / below)
    return float((drawn >= ratio).mean())
