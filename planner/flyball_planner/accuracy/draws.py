"""`python -m flyball_planner.accuracy.draws DIR --seeds 1 20`: calibrate with random draws of five rows.

The folds of the usual judgement are five rows spread over a suite. A user has any five, so here they are drawn, and the
median and the worst of all draws are printed: the error of the others, and the excess of the layouts that are chosen.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from flyball_planner.accuracy.judgement import FOLDS, GIVEN_ROWS
from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import FILE, PUBLISHED, Timed, timed_rows
from flyball_planner.accuracy.timing import METRIC, cold_predictions, excesses, learned_from
from flyball_planner.interval import Interval


class Draw(Struct, frozen=True):
    """One draw: median errors and mean regrets of the rows that were not given, cold and calibrated."""

    cold_error: float
    error: float
    covered: float  # share of the rows in the calibrated interval
    cold_regret: float | None  # None: no two rows compete
    regret: float | None


def draw(rows: Sequence[Timed], suite: str, seed: int) -> Draw:
    """Learn from five rows drawn by the seed, and judge the others."""
    chosen = set(np.random.default_rng(seed).choice(len(rows), GIVEN_ROWS, replace=False).tolist())
    given = [row for place, row in enumerate(rows) if place in chosen]
    others = [row for place, row in enumerate(rows) if place not in chosen]
    cold, warm = cold_predictions(others, suite), list(learned_from(given, others, suite))
    held = [interval.holds(row.seconds) for row, interval in warm]
    return Draw(_error(cold), _error(warm), float(np.mean(held)), _regret(cold), _regret(warm))


def _error(found: Sequence[tuple[Timed, Interval]]) -> float:
    return float(np.median([abs(interval.middle / row.seconds - 1) for row, interval in found]))


def _regret(found: Sequence[tuple[Timed, Interval]]) -> float | None:
    excess = excesses(found)
    return float(np.mean(excess)) if excess else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per suite."""
    parser = argparse.ArgumentParser(prog="python -m flyball_planner.accuracy.draws", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=PUBLISHED, metavar="DIR")
    parser.add_argument("--seeds", type=int, nargs=2, default=(1, 20), metavar=("FIRST", "LAST"))
    chosen = parser.parse_args(arguments)
    for suite, rows in read_tables(chosen.folder).suites(FILE).items():
        timed = timed_rows(rows, METRIC).timed
        if len(timed) >= GIVEN_ROWS + FOLDS:
            seeds = range(chosen.seeds[0], chosen.seeds[1] + 1)
            print(f"{suite:20} {_line([draw(timed, suite, seed) for seed in seeds])}")
    return 0


def _line(found: Sequence[Draw]) -> str:
    errors = [each.error for each in found]
    text = (
        f"error {np.median([each.cold_error for each in found]):6.1%} → {np.median(errors):6.1%} "
        f"(worst {max(errors):6.1%}), covered {np.mean([each.covered for each in found]):5.1%}"
    )
    contests = [
        (each.cold_regret, each.regret) for each in found if each.cold_regret is not None and each.regret is not None
    ]
    if not contests:
        return text
    cold, warm = zip(*contests, strict=True)
    worse = sum(after > before + 1e-9 for before, after in contests)
    return (
        f"{text}; regret {np.median(cold):5.1%} → {np.median(warm):5.1%} "
        f"(worst {max(cold):5.1%} → {max(warm):5.1%}, {worse} of {len(contests)} draws worse)"
    )


if __name__ == "__main__":
    sys.exit(main())
