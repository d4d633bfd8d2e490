"""`python -m flyball_planner.accuracy.fit_timing DIR`: fit the timing coefficients to throughput.csv and print them.

Each suite (one laboratory with its machines and software) has its own coefficients, drawn from a common distribution
with a middle and a spread for each coefficient. Expectation maximisation alternates between both: the coefficients of
each suite for a given distribution, then the distribution of the suites' coefficients. So the spread covers what a new
suite may differ by, and predictions of unknown suites have realistic intervals. For each suite there is also a fit to
the others alone, by which it can be judged. What these fits miss in the suites that they left out gives the scatter of
whole suites, the pace. The suites of `data/throughput.csv` only count for this.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.accuracy.between_suites import LeftOut, left_out, pace_deviation
from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import FILE, PUBLISHED, seconds_of, timed_rows, work_of
from flyball_planner.belief import Belief, Matrix, derivatives, narrow
from flyball_planner.timing.coefficients import NAMES, PACE, SCATTER
from flyball_planner.timing.estimate import logarithms
from flyball_planner.timing.work import Work

Vector = NDArray[np.float64]

START: Mapping[str, tuple[float, float]] = {
    # The start of the search, and the standard deviation of its logarithm: general knowledge with wide margins.
    "matmul": (0.85, 0.15),
    "ramp": (0.5, 0.7),
    "tile": (1.5e-6, 0.7),
    "unaligned": (0.8, 0.2),
    "convolution": (0.85, 0.3),
    "grouped": (0.85, 0.2),
    "copying": (9.0, 0.4),
    "attention": (0.4, 0.4),
    "batched": (0.5, 0.5),
    "memory": (0.75, 0.25),
    "launch": (
        25e-6,
        0.7,
    ),  # 1.2 ms a layer of about 50 kernels: Llama 2 7B in plain PyTorch (PyTorch blog, GPT Fast, 2023)
    "link": (0.7, 0.3),
    "hop": (6e-6, 0.7),
    "network": (0.7, 0.4),
    "exposed": (0.15, 0.7),
    "fixed": (5e-3, 1.0),
    "uneven": (0.01, 0.7),
}
START_SUITES = 2.0  # weight of the start, in suites
WIDEST = 1.5  # times the start's deviation, so that one outlying suite does not widen a coefficient for all
ROUNDS = 8  # in which each suite is linearised again around its own coefficients
ROUNDS_LEFT_OUT = 4  # starting from the fit to all suites
MOST_STEPS = 2_000  # of expectation maximisation between them; it moves slowly where few suites know a coefficient
SETTLED = 1e-5  # of a logarithm: smaller moves end it
MOST_RUNS = 40.0  # weight of a suite, in runs: the runs of one sweep are not independent
LEAST_SCATTER = 0.03  # of repeated measurements
MODEL_SCATTER = 0.06  # before the first suite


class Evidence(Struct, frozen=True):
    """A normal distribution of the coefficients' logarithms by one suite alone, which may know nothing of some."""

    certainty: Matrix  # inverse of the covariance
    pull: Vector  # certainty times the middle


class Suite(Struct, frozen=True):
    """The runs of one laboratory."""

    name: str
    work: Work
    seconds: Vector

    def predict(self, point: Vector) -> Vector:
        """Return the logarithms of the seconds at a point of the coefficients."""
        return logarithms(self.work, point)


def fit(suites: Sequence[Suite], belief: Belief, rounds: int) -> Belief:
    """Return the common middle and spread of all suites' coefficients."""
    scatters = {suite.name: belief.scatter for suite in suites}
    beliefs = [belief for _ in suites]
    for _ in range(rounds):
        beliefs = [
            _suite_belief(suite, belief, scatters, last.middle) for suite, last in zip(suites, beliefs, strict=True)
        ]
        middle, variance = settled([evidence(each, belief) for each in beliefs], belief)
        scatter = float(np.sqrt(np.mean([each**2 for each in scatters.values()])))
        belief = Belief(NAMES, middle, np.diag(variance), scatter)
    return belief


def evidence(narrowed: Belief, common: Belief) -> Evidence:
    """Return the evidence of a suite's runs alone: its belief without the common one."""
    after, before = np.linalg.inv(narrowed.covariance), np.linalg.inv(common.covariance)
    return Evidence(after - before, after @ narrowed.middle - before @ common.middle)


def settled(suites: Sequence[Evidence], belief: Belief) -> tuple[Vector, Vector]:
    """Return middle and variance of the coefficients' distribution under which this evidence is likeliest."""
    start = np.log([START[name][0] for name in belief.names])
    width = np.array([START[name][1] for name in belief.names])
    middle, variance = belief.middle, np.diag(belief.covariance)
    count = len(suites) + START_SUITES
    for _ in range(MOST_STEPS):
        known = [np.linalg.inv(each.certainty + np.diag(1 / variance)) for each in suites]
        points = np.array([each @ (suite.pull + middle / variance) for each, suite in zip(known, suites, strict=True)])
        before, middle = middle, (points.sum(axis=0) + START_SUITES * start) / count
        unsure = np.array([np.diag(each) for each in known])
        spread = ((points - middle) ** 2 + unsure).sum(axis=0) + START_SUITES * width**2
        variance = np.minimum(spread / count, (WIDEST * width) ** 2)
        if np.abs(middle - before).max() < SETTLED:
            break
    return middle, variance


def _suite_belief(suite: Suite, common: Belief, scatters: dict[str, float], start: Vector) -> Belief:
    """Return a suite's own coefficients, and store the scatter around them for the next round."""

    repeated = np.sqrt(max(1.0, len(suite.seconds) / MOST_RUNS))
    prior = Belief(NAMES, common.middle, common.covariance, scatters[suite.name] * float(repeated))
    narrowed = narrow(prior, suite.predict, suite.seconds, start, rounds=1)  # this fit determines the scatter
    error = np.log(suite.seconds) - suite.predict(narrowed.middle)
    freedom = max(1.0, len(error) - _effective(narrowed, common))
    scatter = float(np.sqrt((MODEL_SCATTER**2 + np.sum(np.clip(error, -0.3, 0.3) ** 2)) / (1 + freedom)))
    scatters[suite.name] = max(LEAST_SCATTER, scatter)
    return narrowed


def _effective(narrowed: Belief, common: Belief) -> float:
    """Return the number of coefficients that the suite determines."""
    return float(np.sum(1 - np.diag(narrowed.covariance) / np.diag(common.covariance)))


def read_suites(folder: Path) -> list[Suite]:
    """Return all suites with their rows of well-known models."""
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
    judged = [each for each in read_suites(PUBLISHED) if each.name not in {suite.name for suite in suites}]
    begin = np.log([START[name][0] for name in NAMES])
    spread = np.diag([START[name][1] ** 2 for name in NAMES])
    all_suites = fit(suites, Belief(NAMES, begin, spread, MODEL_SCATTER), ROUNDS)
    print("# Fitted by python -m flyball_planner.accuracy.fit_timing to the suites", *(each.name for each in suites))
    print("left_out,name,middle,deviation")
    _write("", all_suites)
    found = []
    for suite in suites:
        others = fit([each for each in suites if each is not suite], all_suites, ROUNDS_LEFT_OUT)
        _write(suite.name, others)
        found.append(_missed(suite, others))
    _write_paces([*found, *(_missed(suite, all_suites) for suite in judged)])
    return 0


def _missed(suite: Suite, belief: Belief) -> LeftOut:
    """Compare a suite with the fit to the others."""
    there = suite.predict(belief.middle)
    slopes = derivatives(suite.predict, belief.middle, there)
    return left_out(suite.name, belief, slopes, np.log(suite.seconds) - there, MOST_RUNS)


def _write_paces(found: Sequence[LeftOut]) -> None:
    for name in ("", *(each.name for each in found)):
        print(f"{name},{PACE},1,{pace_deviation([each for each in found if each.name != name]):.3f}")


def _write(suite: str, belief: Belief) -> None:
    for name, middle, deviation in zip(NAMES, np.exp(belief.middle), belief.deviations, strict=True):
        print(f"{suite},{name},{middle:.4g},{deviation:.3f}")
    print(f"{suite},{SCATTER},{belief.scatter:.4f},")


if __name__ == "__main__":
    sys.exit(main())
