"""Write the page of the labelled runs: the method, the results with each way of reporting, and what was wrong."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tests.benchmarks.figure import Figure
from tests.benchmarks.labelled.causes.generator import History
from tests.benchmarks.labelled.column import Column
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.score import (
    NOTHING,
    base_is_right,
    calibration_error,
    confusion,
    of_use,
    share,
    statements,
)
from tests.benchmarks.labelled.tables import (
    Steady,
    by_generators,
    confidences,
    delay_table,
    matrix,
    mistakes,
    short,
    side_notes,
    steady_table,
    summary,
    used_as,
)
from tests.benchmarks.labelled.wilson import Share

if TYPE_CHECKING:
    from collections import Counter

REACH_SINGLE, REACH_MIXED, REACH_QUIET = 0.95, 0.85, 0.99
REACH_SINGLE_ALONE, REACH_MIXED_ALONE = 0.85, 0.5
"""Without reports, of the share itself: only what the kernel knows is used."""

REACH_CHANGES = 1

INTRODUCTION = """# Labelled runs

`python -m tests.benchmarks.labelled` creates real bottlenecks on a real machine around a small real training loop. The
loop uses NumPy; it loads, computes, calls a service and reports its steps to an agent. The benchmark records the
readings of the agent's own probes, and replays them through the fleet, window, detectors and conditions of the product.
Every number here can be computed again from the recordings, which are kept as `scored-{seed}.tar.xz`.

- **An episode is one labelled run**: {full:.0f} s with its cause, and a few seconds without it before and after. It
  counts once.
- **A label is accepted only if the loop is at least {harm:.0%} faster without the cause**, compared with its speed
  before and after (for mixtures: without the one cause, and without the other). An episode that is meant to be harmless
  counts as quiet, unless the loop was more than {same:.0%} slower than before and after. All other episodes are
  dropped, and so is every episode during which other work used a tenth of the machine or more.
- **Right** means: for a single cause, its bottleneck is active and has the largest score of the active ones; for a
  mixture, both bottlenecks are active; in a quiet episode, no bottleneck was raised at any time.
- **Each generator has a history.** *Tuned on*: thresholds were chosen and the shipped calibration was fitted on
  recordings of it, and of nothing else (`calibration.json` lists them). *Seen before*: earlier calibrations were fitted
  to recordings of it, and its results were known when rules were written. *Never*: it was written after the rules, and
  was recorded only for this page. The episodes below have another seed than those that were tuned on, drawn when the
  benchmark was started: **{seed}**.
- The [base formula](../explanation/detectors.md#base-scores) always has a largest score; below {base:.0%} its
  answer counts as "nothing". It has no scores for swap, services or waiting, so `memory` and `network` count as
  right there. For a mixture, either cause is right. It uses no reports.
- The ranges in brackets are Wilson's 95 % intervals.

Recorded on {machine}, {when}.
{episodes} episodes are scored; {dropped} more were recorded and dropped.

## Ways of reporting

The same episodes are scored with each way in which a training may report:

{ways}

Two agents recorded each episode: one that the training reported to, and one that knew of no training. The last column
is scored from the records of the second.
{rewritten}"""

REWRITTEN = """The other columns are scored from those of the first, with the reports rewritten as that way would have
made them."""

LIVE = """Columns marked *live* are other episodes, recorded with trainings that report in that way."""

CONFIDENCE = """Of the bottlenecks that were active at the end of a full phase, how many were right.

![Share of correct reports by confidence](labelled-runs-calibration.svg)"""

DELAY = """Time from the start of the cause until the bottleneck was raised, for single causes: in how many
episodes, median, slowest. A bottleneck must hold for a few seconds before it is raised."""

CONFORMANCE = """## Conformance

Cases for which this machine has no hardware are simulated by the stand-in GPU or by data, with a known answer. They are
tests, and count neither for accuracy nor for calibration.

| case | test |
|---|---|
| starved GPU (saw-tooth), host-bound, small batch, PCIe at its limit, checkpoints, two causes at once | `{scores}` |
| failing cooler, memory that runs out, a co-tenant that uses it up, stuck telemetry, quiet scenarios | `{forecast}` |
| a straggler among 16 ranks behind a real barrier, and no straggler without a slow rank | `{stragglers}` |
| power caps, cooling and co-tenants among peers | `{peers}` |
| ranks and runs that became slower | `{slow}` |
"""

CONFORMANCE_TESTS = {
    "scores": "tests/collector/diagnosis/scores/test_conformance.py",
    "forecast": "tests/collector/diagnosis/forecast/test_standin.py",
    "stragglers": "tests/collector/diagnosis/runs/test_stragglers.py",
    "peers": "tests/collector/diagnosis/peers/test_peers.py",
    "slow": "tests/collector/diagnosis/runs/test_slow_ranks.py",
}


def page(columns: Sequence[Column], steady: Sequence[Steady], dropped: int, words: Mapping[str, object]) -> str:
    """Return the page; the first column is the one that most of it is about."""
    first, last = columns[0], columns[-1]
    ways = "\n".join(f"- **{column.title}**: {column.way.meaning} ({len(column.pairs)} episodes)" for column in columns)
    rewritten = f"{REWRITTEN}\n{LIVE}" if any(column.live for column in columns) else REWRITTEN
    counts = {"episodes": len(first.pairs), "dropped": dropped, "ways": ways, "rewritten": rewritten}
    parts = [
        INTRODUCTION.format(**words, **counts),
        "## Summary\n\n" + summary(columns) + "\n\n" + side_notes(columns),
        *_matrices(first, last),
        f"## Confidence and correctness\n\n{CONFIDENCE}\n\n" + confidences(columns),
        f"## Detection delay\n\n{DELAY}\n\n" + delay_table(columns),
        "## Single causes by generator\n\n" + by_generators(columns, Use.SINGLE),
        "## Mixtures by generators\n\n" + by_generators(columns, Use.MIXED),
        "## Quiet episodes by generator\n\n" + by_generators(columns, Use.QUIET),
        "## Wrong reports\n\nBrackets: raised during the episode, but no longer active at the end of its cause.\n\n"
        + mistakes(columns),
        CONFORMANCE.format(**CONFORMANCE_TESTS),
    ]
    if steady:
        parts.insert(2, "## Steady load\n\n" + steady_table(steady))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _matrices(first: Column, last: Column) -> list[str]:
    found: list[tuple[str, Mapping[str, Counter[str]]]] = [
        (f"Confusion matrix: {first.title}", confusion(first.pairs, lambda v: short(v.primary)))
    ]
    if last is not first:
        found.append((f"Confusion matrix: {last.title}", confusion(last.pairs, lambda v: short(v.primary))))
    found.append(("Confusion matrix of the base formula", confusion(first.pairs, lambda v: v.base or NOTHING)))
    return [f"## {title}\n\n{matrix(each)}" for title, each in found]


def figures(columns: Sequence[Column], steady: Sequence[Steady], dropped: int) -> list[Figure]:
    """Return the figures with a target, each with its condition, and figures for comparison."""
    count = len(columns[0].pairs)
    found = [Figure("episodes scored", count, "episodes", note=f"{dropped} more were dropped")]
    for column in columns:
        found += _with_targets(column)
    pairs, reports = columns[0].pairs, statements(columns[0].pairs)
    found += [
        _plain("base formula: single causes", share(of_use(pairs, Use.SINGLE), base_is_right)),
        _plain("base formula: quiet left alone", share(of_use(pairs, Use.QUIET), base_is_right)),
    ]
    error = calibration_error(reports)
    if error is not None:
        found.append(Figure(f"{columns[0].title}: calibration error", error, "ratio", note=f"{len(reports)} reports"))
    found += [
        Figure(f"changes of primary in {one.minutes:.0f} min, {one.name}", one.changes, "changes",
               f"≤ {REACH_CHANGES}", one.changes <= REACH_CHANGES) for one in steady
    ]  # fmt: skip
    return found


def _with_targets(column: Column) -> list[Figure]:
    """Return the figures of one way of reporting: lower bounds with sections, the share itself without reports."""
    title, pairs = column.title, column.pairs
    single, mixed = share(of_use(pairs, Use.SINGLE)), share(of_use(pairs, Use.MIXED))
    never = share(filter(used_as(Use.SINGLE, History.NEVER), pairs))
    if column.way.reports in {"client", "hooks"}:
        found = [
            _bounded(f"{title}: single causes named first", single, REACH_SINGLE),
            _bounded(f"{title}: mixtures, both named", mixed, REACH_MIXED),
        ]
    elif column.way.reports == "none":
        found = [
            _reached(f"{title}: single causes named first", single, REACH_SINGLE_ALONE),
            _reached(f"{title}: mixtures, both named", mixed, REACH_MIXED_ALONE),
        ]
    else:
        found = [
            _plain(f"{title}: single causes named first", single),
            _plain(f"{title}: mixtures, both named", mixed),
        ]
    found.append(_plain(f"{title}: single causes of generators never used before", never))
    found.append(_reached(f"{title}: quiet episodes left alone", share(of_use(pairs, Use.QUIET)), REACH_QUIET))
    return found


def _bounded(name: str, found: Share, reach: float) -> Figure:
    low = found.bounds[0]
    return Figure(name, low, "lower bound", f"≥ {reach:g}", low >= reach, found.words)


def _reached(name: str, found: Share, reach: float) -> Figure:
    value = found.value if found.value is not None else 0.0
    return Figure(name, value, "ratio", f"≥ {reach:g}", value >= reach, found.words)


def _plain(name: str, found: Share) -> Figure:
    return Figure(name, found.value or 0.0, "ratio", note=found.words)
