"""Compare the planner with Calculon and llm-analysis on the runs that each of them was validated with.

The figures of the peers are their own: those that Calculon's `llm-validation` prints, and the table in llm-analysis'
example for LLaMA. Both set the efficiency of the devices by hand, Calculon for these very runs. The planner knows
nothing of these suites (cold), or five rows of the suite (calibrated).

python -m tests.benchmarks.planner_peers
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median

from flyball_planner.accuracy.published_runs import PublishedRun, planned, published_runs
from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import FILE, PUBLISHED, timed_rows
from flyball_planner.accuracy.timing import Predicted, calibrated, cold_predictions
from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.calibration.steps import learn_steps
from flyball_planner.layout_search.search import search_layouts
from tests.benchmarks.figure import Figure, plain, report

CALCULON: Mapping[str, float] = {
    "korthikanti-22B-full": 1.40,
    "korthikanti-22B-selective": 1.14,
    "korthikanti-175B-full": 18.03,
    "korthikanti-175B-selective": 13.64,
    "korthikanti-530B-full": 49.89,
    "korthikanti-530B-selective": 34.47,
    "korthikanti-1T-full": 90.08,
    "korthikanti-1T-selective": 66.04,
}
"""Seconds of a step: `calculon llm-validation` of calculon-ai/calculon@caa4b11, run on 27 November 2026."""

LLM_ANALYSIS: Mapping[str, float] = {
    "llama-1-7b": 77_832,
    "llama-1-13b": 148_047,
    "llama-1-33b": 510_213,
    "llama-1-65b": 1_015_701,
}
"""Device-hours: cli99/llm-analysis@d841e40 examples/llama/README.md, with an efficiency of 0.5 set by hand."""


def steps() -> Iterator[Figure]:
    """Yield the errors of step times on Calculon's runs of Megatron-LM (Korthikanti et al. 2022, table 5)."""
    rows = [row for row in read_tables(PUBLISHED).suites(FILE)["korthikanti-2022"] if row.id in CALCULON]
    timed = timed_rows(rows, "step_time").timed
    theirs = [CALCULON[each.row.id] / each.seconds for each in timed]
    warm = [each for fold in calibrated(timed, "korthikanti-2022") for each in fold.judged]
    yield _error("Calculon, step time", theirs, "set by hand for these runs")
    yield _error("Flyball, the same, cold", _ratios(cold_predictions(timed, "korthikanti-2022")))
    yield _error("Flyball, the same, calibrated", _ratios(warm), "five rows given, the others judged")


def whole_runs() -> Iterator[Figure]:
    """Yield the errors of device-hours on llm-analysis' runs (LLaMA, table 15).

    These hours are the pace of a step times the tokens, so the steps alone are what they can be compared with.
    """
    runs = [run for run in published_runs() if run.name in LLM_ANALYSIS]
    theirs = [LLM_ANALYSIS[run.name] / run.device_hours for run in runs]
    ours = [planned(run).estimate(left_out=run.family) for run in runs]
    yield _error("llm-analysis, device-hours", theirs, "efficiency set by hand")
    for name, seconds in (
        ("the steps alone", [each.steps_alone.middle for each in ours]),
        ("as runs go", [each.seconds.middle for each in ours]),
    ):
        hours = [took * run.machine.devices / 3600 for took, run in zip(seconds, runs, strict=True)]
        ratios = [found / run.device_hours for found, run in zip(hours, runs, strict=True)]
        yield _error(f"Flyball, the same, {name}", ratios, "the family left out of the fit")


def calibrated_runs() -> Iterator[Figure]:
    """Yield the error of device-hours if one of llm-analysis' runs is given and the three others are estimated.

    llm-analysis' efficiency was set by hand for the same runs.
    """
    runs = [run for run in published_runs() if run.name in LLM_ANALYSIS]
    ratios = [ratio for given in runs for ratio in _others_by(given, [run for run in runs if run is not given])]
    yield _error("Flyball, the same, calibrated", ratios, "one run given, the three others estimated; each in turn")


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


def _ratios(predictions: Predicted) -> list[float]:
    return [interval.middle / row.seconds for row, interval in predictions]


def _error(name: str, ratios: Iterable[float], note: str = "") -> Figure:
    errors = [100 * abs(ratio - 1) for ratio in ratios]
    extent = f"median {median(errors):.1f} %, at most {max(errors):.1f} %, {len(errors)} runs"
    return plain(f"{name}: mean error", fmean(errors), "%", "; ".join(filter(None, (extent, note))))


def figures() -> list[Figure]:
    """Return every comparison."""
    return [*steps(), *whole_runs(), *calibrated_runs()]


if __name__ == "__main__":
    report(figures())
