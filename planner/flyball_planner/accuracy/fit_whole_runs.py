"""`python -m flyball_planner.accuracy.fit_whole_runs`: fit the overrun of complete runs, and print its data file.

The overrun of a published run is what it took, divided by the planner's steps and the known work between them. For each
class of runs, the file has the robust mean (Huber) of its logarithm and its scatter. Runs of one family share their
software, so a family has at most the weight of a few runs. For each family there is also a fit to the others alone, by
which it is judged; the scatter is that of these judgements, so it holds for families never seen. `--report` prints the
judgement of every run in place of the file.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.accuracy.published_runs import PlannedRun, planned_runs
from flyball_planner.belief import NINETY
from flyball_planner.timing.overrun import (
    CLUSTER,
    FEW,
    IMAGES,
    LOST,
    MANY,
    OverrunLaw,
    class_of,
    step_deviation,
    takes_images,
)

Vector = NDArray[np.float64]

FAMILY_RUNS = 2.0  # weight of a family, in runs
KNOWN_RUNS = 12.0
"""Weight, in runs, of the belief that runs on a few devices lose only what runs of a known pace lose: their steps are
what the suites of measured runs contain. The published ones alone contradict each other."""
USUAL_SCATTER = 0.3
OUTLIER = 1.5  # deviations beyond which a run counts less
CLIPPED = 2.5  # deviations beyond which an error counts as that many in a class of few families
FEWEST_FAMILIES = 12  # below, the quantile that holds nine of ten runs is that of one family
ROUNDS = 30


class RunColumns(Struct, frozen=True):
    """The runs as columns: one row each."""

    names: tuple[str, ...]
    families: tuple[str, ...]
    classes: tuple[str, ...]
    devices: Vector
    overruns: Vector  # logarithms
    step_deviations: Vector
    lost: Vector  # logarithms of what runs lost beyond their stated pace; NaN where none is stated

    def where(self, kept: NDArray[np.bool_]) -> "RunColumns":
        """Select rows."""
        return RunColumns(
            _selected(self.names, kept),
            _selected(self.families, kept),
            _selected(self.classes, kept),
            self.devices[kept],
            self.overruns[kept],
            self.step_deviations[kept],
            self.lost[kept],
        )

    def without(self, family: str) -> "RunColumns":
        """Return the runs of all other families."""
        return self.where(~equal(self.families, family))


def _selected(words: Sequence[str], kept: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(word for word, keep in zip(words, kept, strict=True) if keep)


def equal(words: Sequence[str], wanted: str) -> NDArray[np.bool_]:
    """Return which of the words are the wanted one."""
    return np.array([each == wanted for each in words], dtype=bool)


def sample(runs: Sequence[PlannedRun]) -> RunColumns:
    """Return the columns of the planned runs."""
    estimates = [each.estimate() for each in runs]
    hours = np.array([each.run.device_hours for each in runs])
    known = np.array([found.device_hours.middle / found.overrun for found in estimates])
    alone = np.array([found.steps_alone.middle * found.overrun / found.seconds.middle for found in estimates])
    stated = np.array([each.run.stated_hours or np.nan for each in runs])
    return RunColumns(
        names=tuple(each.run.name for each in runs),
        families=tuple(each.run.family for each in runs),
        classes=tuple(class_of(each.run.machine.devices, images=takes_images(each.run.subject)) for each in runs),
        devices=np.array([each.run.machine.devices for each in runs], dtype=float),
        overruns=np.log(hours / known),
        step_deviations=np.array([step_deviation(each.step) for each in runs]),
        lost=np.log(hours / stated * alone),
    )


def middle_of(runs: RunColumns, name: str) -> float:
    """Return the mean of a class; on a few devices it is drawn to what runs of a known pace lose."""
    rows = equal(runs.classes, name)
    own = runs.where(rows) if rows.any() else runs
    values, weights = own.overruns, _family_weights(own.families)
    if name == FEW:
        values, weights = np.append(values, lost_of(runs)[0]), np.append(weights, KNOWN_RUNS)
    return _robust_mean(values, weights)


def lost_of(runs: RunColumns) -> tuple[float, float]:
    """Return the middle and the scatter of what runs lost beyond their stated pace; nothing if none states it."""
    lost = runs.lost[~np.isnan(runs.lost)]
    if not len(lost):
        return 0.0, USUAL_SCATTER
    middle = float(np.median(lost))
    return middle, float(np.sqrt(np.mean((lost - middle) ** 2)))


def _robust_mean(values: Vector, weights: Vector) -> float:
    mean = float(np.median(values))
    for _ in range(ROUNDS):
        trusted = weights * np.minimum(1.0, OUTLIER * USUAL_SCATTER / np.maximum(np.abs(values - mean), 1e-9))
        mean = float(np.average(values, weights=trusted))
    return mean


def _family_weights(families: Sequence[str]) -> Vector:
    count = {name: families.count(name) for name in families}
    return np.array([min(1.0, FAMILY_RUNS / count[name]) for name in families])


def left_out_errors(runs: RunColumns) -> Vector:
    """Return the logarithm of reported over predicted of each run, predicted from the other families."""
    error = np.empty(len(runs.overruns))
    for family in sorted(set(runs.families)):
        others = runs.without(family)
        middles = {name: max(0.0, middle_of(others, name)) for name in sorted(set(runs.classes))}
        for row in np.flatnonzero(equal(runs.families, family)):
            error[row] = runs.overruns[row] - middles[runs.classes[row]]
    return error


def scatter_of(error: Vector, families: Sequence[str]) -> float:
    """Return the deviation whose 90 % interval holds nine of ten judged runs; of few families, the clipped one."""
    if not families:
        return USUAL_SCATTER
    weights = _family_weights(families)
    size = np.abs(error)
    if len(set(families)) < FEWEST_FAMILIES:
        return float(np.sqrt(np.average(np.minimum(size, CLIPPED * USUAL_SCATTER) ** 2, weights=weights)))
    order = np.argsort(size)
    share = np.cumsum(weights[order])
    return float(np.interp(0.9, (share - weights[order] / 2) / share[-1], size[order]) / NINETY)


def laws(runs: RunColumns) -> dict[str, OverrunLaw]:
    """Return the law of each class."""
    error = left_out_errors(runs)
    found = {}
    for name in sorted(set(runs.classes)):
        rows = equal(runs.classes, name)
        own = runs.where(rows)
        usual, scatter = float(np.median(own.step_deviations)), scatter_of(error[rows], own.families)
        found[name] = OverrunLaw(middle_of(runs, name), scatter, usual)
    return {**found, LOST: OverrunLaw(*lost_of(runs), 0.0)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the data file, or the judgement of every run."""
    parser = argparse.ArgumentParser(prog="python -m flyball_planner.accuracy.fit_whole_runs", description=__doc__)
    parser.add_argument("--report", action="store_true", help="print each run with its judgement")
    chosen = parser.parse_args(arguments)
    runs = sample(list(planned_runs()))
    for line in report(runs) if chosen.report else _file(runs):
        print(line)
    return 0


def _file(runs: RunColumns) -> Iterator[str]:
    yield f"# Fitted by python -m flyball_planner.accuracy.fit_whole_runs to {len(runs.names)} published runs"
    yield ",".join(("left_out", "class", *OverrunLaw.__struct_fields__))
    for family in ("", *sorted(set(runs.families))):
        for name, law in laws(runs.without(family)).items():
            yield f"{family},{name},{law.middle:.4f},{law.scatter:.4f},{law.step_deviation:.4f}"


def report(runs: RunColumns) -> Iterator[str]:
    """Yield a line for each run, and the errors of each class."""
    error = left_out_errors(runs)
    yield f"{'run':24} {'reported ÷ planned':>18} {'left-out error':>15} {'lost':>6}"
    for name, overrun, wrong, lost in zip(runs.names, runs.overruns, error, runs.lost, strict=True):
        yield f"{name:24} {np.exp(overrun):18.2f} {np.expm1(-wrong):+15.1%} {np.exp(lost):6.2f}"
    for title, rows in {
        "all": np.ones(len(error), dtype=bool),
        **{name: equal(runs.classes, name) for name in (FEW, MANY, IMAGES)},
        f"below {CLUSTER} devices": runs.devices < CLUSTER,
    }.items():
        size, plain = np.abs(np.expm1(-error[rows])), np.abs(np.expm1(-runs.overruns[rows]))
        held = np.mean([_held(runs, error, int(row)) for row in np.flatnonzero(rows)])
        errors = f"median error {np.median(size):.1%} ({np.median(plain):.1%} without the overrun)"
        yield f"{title}: {rows.sum()} runs, {errors}, {held:.1%} held by the interval of the other families"


def _held(runs: RunColumns, error: Vector, row: int) -> bool:
    others = ~equal(runs.families, runs.families[row]) & equal(runs.classes, runs.classes[row])
    known = [family for family, other in zip(runs.families, others, strict=True) if other]
    return bool(np.abs(error[row]) <= NINETY * scatter_of(error[others], known))


if __name__ == "__main__":
    sys.exit(main())
