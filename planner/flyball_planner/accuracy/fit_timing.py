"""`python -m flyball_planner.accuracy.fit_timing DIR`: fits the timing coefficients to throughput.csv, and prints them.

Each suite (one laboratory, its machines and software) has coefficients of its own, drawn from what suites have in
common: a middle and a spread for each coefficient. Both are found by turns (expectation maximisation): each suite's
coefficients given the common middle and spread, then middle and spread given the suites. The spread is thereby what a
new suite may differ by, so that predictions of a suite nobody measured have honest intervals. For each suite there is
also a fit to the others alone, by which it can be judged.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import FILE, seconds_of, timed_rows, work_of
from flyball_planner.calibration.belief import Belief, narrow
from flyball_planner.timing.coefficients import NAMES, SCATTER, from_logarithms
from flyball_planner.timing.seconds import step_seconds
from flyball_planner.timing.work import Work

Vector = NDArray[np.float64]

START: Mapping[str, tuple[float, float]] = {
    # Where the search begins, and the deviation of its logarithm: what is usual by common knowledge, widely.
    "matmul": (0.85, 0.15),
    "ramp": (0.5, 0.7),
    "unaligned": (0.8, 0.2),
    "convolution": (0.85, 0.3),
    "grouped": (0.6, 0.4),
    "attention": (0.4, 0.4),
    "batched": (0.25, 0.5),
    "memory": (0.75, 0.25),
    "launch": (15e-6, 0.7),
    "link": (0.7, 0.3),
    "hop": (6e-6, 0.7),
    "network": (0.7, 0.4),
    "exposed": (0.15, 0.7),
    "fixed": (5e-3, 1.0),
    "uneven": (0.01, 0.7),
}
START_SUITES = 2.0  # as many suites as the start counts for
WIDEST = 1.5  # times the start's deviation: one suite that the model misses must not open a coefficient to all
ROUNDS = 10
ROUNDS_LEFT_OUT = 5  # they begin where the fit to all suites ended
MOST_RUNS = 40.0  # that a suite counts for: the runs of one sweep repeat each other's peculiarities
LEAST_SCATTER = 0.03  # of a repeated measurement
MODEL_SCATTER = 0.06  # where no suite tells yet


class Suite(Struct, frozen=True):
    """The runs of one laboratory."""

    name: str
    work: Work
    seconds: Vector


def fit(suites: Sequence[Suite], belief: Belief, rounds: int) -> Belief:
    """The common middle and spread of all suites' coefficients."""
    start = np.log([START[name][0] for name in NAMES])
    width = np.array([START[name][1] for name in NAMES])
    scatters = {suite.name: belief.scatter for suite in suites}
    own = [belief for _ in suites]
    for _ in range(rounds):
        own = [_own(suite, belief, scatters, last.middle) for suite, last in zip(suites, own, strict=True)]
        points = np.array([each.middle for each in own])
        unsure = np.array([each.deviations**2 for each in own])
        count = len(suites) + START_SUITES
        middle = (points.sum(axis=0) + START_SUITES * start) / count
        spread = ((points - middle) ** 2 + unsure).sum(axis=0) + START_SUITES * width**2
        scatter = float(np.sqrt(np.mean([each**2 for each in scatters.values()])))
        variance = np.minimum(spread / count, (WIDEST * width) ** 2)
        belief = Belief(NAMES, middle, np.diag(variance), scatter)
    return belief


def _own(suite: Suite, common: Belief, scatters: dict[str, float], start: Vector) -> Belief:
    """A suite's own coefficients; the scatter around them is noted for the next round."""

    def predict(point: Vector) -> Vector:
        return np.log(step_seconds(suite.work, from_logarithms(point)).total)

    repeated = np.sqrt(max(1.0, len(suite.seconds) / MOST_RUNS))
    told = Belief(NAMES, common.middle, common.covariance, scatters[suite.name] * float(repeated))
    own = narrow(told, predict, suite.seconds, start, rounds=1)  # the scatter is this fit's to find
    error = np.log(suite.seconds) - predict(own.middle)
    freedom = max(1.0, len(error) - _effective(own, common))
    scatter = float(np.sqrt((MODEL_SCATTER**2 + np.sum(np.clip(error, -0.3, 0.3) ** 2)) / (1 + freedom)))
    scatters[suite.name] = max(LEAST_SCATTER, scatter)
    return own


def _effective(own: Belief, common: Belief) -> float:
    """How many coefficients the suite really determined."""
    return float(np.sum(1 - np.diag(own.covariance) / np.diag(common.covariance)))


def read_suites(folder: Path) -> list[Suite]:
    """All suites, their rows with well-known models."""
    found = []
    for name, rows in sorted(read_tables(folder).suites(FILE).items()):
        timed = [each for each in timed_rows(rows, "step_time").timed if not each.run.spread]
        if timed:
            found.append(Suite(name, work_of(timed), seconds_of(timed)))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the data file."""
    parser = argparse.ArgumentParser(prog="python -m flyball_planner.accuracy.fit_timing", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="tables of measured runs")
    suites = read_suites(parser.parse_args(arguments).folder)
    begin = np.log([START[name][0] for name in NAMES])
    spread = np.diag([START[name][1] ** 2 for name in NAMES])
    whole = fit(suites, Belief(NAMES, begin, spread, MODEL_SCATTER), ROUNDS)
    print("# Fitted by python -m flyball_planner.accuracy.fit_timing to the suites", *(each.name for each in suites))
    print("left_out,name,middle,deviation")
    _write("", whole)
    for suite in suites:
        _write(suite.name, fit([each for each in suites if each is not suite], whole, ROUNDS_LEFT_OUT))
    return 0


def _write(left_out: str, belief: Belief) -> None:
    for name, middle, deviation in zip(NAMES, np.exp(belief.middle), belief.deviations, strict=True):
        print(f"{left_out},{name},{middle:.4g},{deviation:.3f}")
    print(f"{left_out},{SCATTER},{belief.scatter:.4f},")


if __name__ == "__main__":
    sys.exit(main())
