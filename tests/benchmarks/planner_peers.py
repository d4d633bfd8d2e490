"""Compare the planner with Calculon and llm-analysis, on the runs that each was validated with and on others.

The figures of the peers are their own: Calculon's `llm-validation`, the table in llm-analysis' example for LLaMA (which
its program reproduces to the digit), and what both estimate for the published suites of this package
(`planner_peers.csv`). Both take a share of the peak rate from their user; Calculon's was set for its validation runs,
and llm-analysis' 0.5 by what its author had observed. So the planner is judged cold, with five rows of the suite, and
with a share as well (`hardware.efficiency`): the peer's own number, and one that the other runs of the set choose.

python -m tests.benchmarks.planner_peers
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from msgspec.structs import replace

from flyball_planner.accuracy.published_runs import PublishedRun, planned, published_runs
from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import FILE, PUBLISHED, Timed, timed_rows
from flyball_planner.accuracy.timing import Predicted, calibrated, cold_predictions
from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.calibration.steps import learn_steps
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.search import search_layouts
from flyball_planner.layouts.layout import Layouts
from flyball_planner.timing.work_builder import build_work
from tests.benchmarks.figure import Figure, plain, report

ESTIMATED = Path(__file__).with_name("planner_peers.csv")
CALCULON, LLM_ANALYSIS = "calculon", "llm-analysis"
KORTHIKANTI = "korthikanti-2022"
ELSEWHERE = ("narayanan-2021", "vtrain-multi", "nemo-24.07")
SHARES = tuple(share / 100 for share in range(50, 100, 5))  # that a user may state

LLAMA_HOURS: Mapping[str, float] = {
    "llama-1-7b": 77_832,
    "llama-1-13b": 148_047,
    "llama-1-33b": 510_213,
    "llama-1-65b": 1_015_701,
}
"""Device-hours: cli99/llm-analysis@d841e40 examples/llama/README.md, with an efficiency of 0.5 set by hand. Without
one its hours are half of these: the default is the peak rate."""
CALCULON_SHARE, LLM_ANALYSIS_SHARE = 0.95, 0.5
"""Shares of the peak rate: of large products in Calculon's systems/a100_80g.json, and of all FLOPs in the example."""


def steps() -> Iterator[Figure]:
    """Yield the errors of step times on Calculon's validation runs (Korthikanti et al. 2022, table 5)."""
    timed = _timed(KORTHIKANTI)
    theirs = peer_seconds(CALCULON)
    warm = [each for fold in calibrated(timed, KORTHIKANTI) for each in fold.judged]
    by_share = {share: _cold([_given(each, share) for each in timed], KORTHIKANTI) for share in SHARES}
    yield _error("Calculon, step time", [theirs[each.row.id] / each.seconds for each in timed], "set for these runs")
    yield _error("Flyball, the same, cold", _cold(timed, KORTHIKANTI))
    yield _error("Flyball, the same, Calculon's share", by_share[CALCULON_SHARE], f"efficiency {CALCULON_SHARE}")
    yield _error("Flyball, the same, a share by hand", chosen_by_others(by_share), "chosen by the seven other runs")
    yield _error("Flyball, the same, calibrated", _ratios(warm), "five rows given, the others judged")


def steps_elsewhere() -> Iterator[Figure]:
    """Yield the errors of both peers on suites that they were not set for, beside ours on the same rows."""
    for tool in (CALCULON, LLM_ANALYSIS):
        theirs = peer_seconds(tool)
        for suite in (KORTHIKANTI, *ELSEWHERE) if tool == LLM_ANALYSIS else ELSEWHERE:
            timed = [each for each in _timed(suite) if each.row.id in theirs]
            if timed:
                yield _error(f"{tool} on {suite}, step time", [theirs[each.row.id] / each.seconds for each in timed])
                yield _error("Flyball, the same, cold", _cold(timed, suite))


def whole_runs() -> Iterator[Figure]:
    """Yield the errors of device-hours on llm-analysis' runs (LLaMA, table 15).

    Only those of 65 B equal the stated pace of a step; whether the others contain losses is not stated.
    """
    runs = _llama()
    by_share = {share: _hours_alone(runs, share) for share in SHARES}
    yield _error("llm-analysis, device-hours", [LLAMA_HOURS[run.name] / run.device_hours for run in runs], "share 0.5")
    yield _error("llm-analysis, its default", [LLAMA_HOURS[run.name] / 2 / run.device_hours for run in runs])
    yield _error("Flyball, the same, the steps alone", _hours_alone(runs), "cold")
    note = "of the products alone; llm-analysis means all of a step"
    yield _error("Flyball, the same, efficiency 0.5", by_share[LLM_ANALYSIS_SHARE], note)
    yield _error("Flyball, the same, a share by hand", chosen_by_others(by_share), "chosen by the three other runs")
    estimates = [planned(run).estimate(left_out=run.family).device_hours.middle for run in runs]
    ratios = [hours / run.device_hours for hours, run in zip(estimates, runs, strict=True)]
    yield _error("Flyball, the same, as runs go", ratios, "the family left out of the fit")


def calibrated_runs() -> Iterator[Figure]:
    """Yield the error of device-hours if one of llm-analysis' runs is given and the three others are estimated."""
    runs = _llama()
    ratios = [ratio for given in runs for ratio in _others_by(given, [run for run in runs if run is not given])]
    yield _error("Flyball, the same, calibrated", ratios, "one run given, the three others estimated; each in turn")


def chosen_by_others(ratios: Mapping[float, Sequence[float]]) -> list[float]:
    """Return each run's ratio at the share that is best for all other runs."""
    runs = range(len(next(iter(ratios.values()))))
    return [ratios[_best_without(run, ratios)][run] for run in runs]


def _best_without(run: int, ratios: Mapping[float, Sequence[float]]) -> float:
    """Return the share with the least mean error over all runs but one."""
    return min(ratios, key=lambda share: fmean(abs(ratio - 1) for at, ratio in enumerate(ratios[share]) if at != run))


def _timed(suite: str) -> Sequence[Timed]:
    return timed_rows(read_tables(PUBLISHED).suites(FILE)[suite], "step_time").timed


def peer_seconds(tool: str) -> Mapping[str, float]:
    """Return the seconds of a step that a tool estimates, by row."""
    with ESTIMATED.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {row["row"]: float(row["seconds"]) for row in rows if row["tool"] == tool}


def _with_share(machine: TrainingMachine, share: float) -> TrainingMachine:
    """Return the machine as `hardware.efficiency` describes it."""
    return replace(machine, device=replace(machine.device, efficiency=share))


def _given(row: Timed, share: float) -> Timed:
    run = replace(row.run, machine=_with_share(row.run.machine, share))
    return replace(row, run=run, work=build_work(run.subject, run.training, Layouts.of(run.layout), run.machine))


def _llama() -> list[PublishedRun]:
    return [run for run in published_runs() if run.name in LLAMA_HOURS]


def _hours_alone(runs: Iterable[PublishedRun], share: float | None = None) -> list[float]:
    """Return the ratio of the planned device-hours of the steps to the published ones."""
    known = [run if share is None else replace(run, machine=_with_share(run.machine, share)) for run in runs]
    hours = [planned(run).estimate().steps_alone.middle * run.machine.devices / 3600 for run in known]
    return [found / run.device_hours for found, run in zip(hours, known, strict=True)]


def _others_by(given: PublishedRun, others: Sequence[PublishedRun]) -> Iterator[float]:
    """Yield the ratio of estimated to published device-hours for each of the others."""
    layout = search_layouts(given.subject, given.training, given.machine).first
    step = given.device_hours * 3600 / given.machine.devices / given.steps
    known = MeasuredRun(given.name, given.subject, given.training, given.machine, layout, step_seconds=step)
    belief = learn_steps([known])
    for run in others:
        found = search_layouts(run.subject, run.training, run.machine, belief=belief).step
        if found is not None:
            yield float(found.middle[0]) * run.steps * run.machine.devices / 3600 / run.device_hours


def _cold(timed: Sequence[Timed], suite: str) -> list[float]:
    return _ratios(cold_predictions(timed, suite))


def _ratios(predictions: Predicted) -> list[float]:
    return [interval.middle / row.seconds for row, interval in predictions]


def _error(name: str, ratios: Iterable[float], note: str = "") -> Figure:
    errors = [100 * abs(ratio - 1) for ratio in ratios]
    extent = f"median {median(errors):.1f} %, at most {max(errors):.1f} %, {len(errors)} runs"
    return plain(f"{name}: mean error", fmean(errors), "%", "; ".join(filter(None, (extent, note))))


def figures() -> list[Figure]:
    """Return every comparison."""
    return [*steps(), *steps_elsewhere(), *whole_runs(), *calibrated_runs()]


if __name__ == "__main__":
    report(figures())
