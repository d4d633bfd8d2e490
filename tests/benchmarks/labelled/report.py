"""Write the page of the labelled runs: the method, the results, and a confusion matrix."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.figure import Figure
from tests.benchmarks.labelled.causes.catalogue import BY_NAME
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.score import (
    NOTHING,
    Pair,
    base_is_right,
    by_generator,
    calibration,
    calibration_error,
    confusion,
    delays,
    is_right,
    of_use,
    share,
    statements,
)
from tests.benchmarks.labelled.wilson import Share

REACH_SINGLE, REACH_MIXED, REACH_QUIET = 0.95, 0.85, 0.99
REACH_CHANGES = 1

INTRODUCTION = """# Labelled runs

`python -m tests.benchmarks.labelled` creates real bottlenecks on a real machine around a small real training loop. The
loop uses NumPy; it loads, computes, calls a service and reports its steps to an agent. The benchmark records the
readings of the agent's own probes, and replays them through the fleet, window, detectors and conditions of the product.
Every number here can be computed again from the recordings. `--reports hooks` trains with PyTorch under `flyball run`
alone instead, `--reports none` without reports; `score --as hooks` rewrites the reports of existing recordings.

- **An episode is one labelled run**: {full:.0f} s with its cause, and a few seconds without it before and after. It
  counts once.
- **A label is accepted only if the loop is at least {harm:.0%} faster without the cause**, compared with its speed
  before and after (for mixtures: without the one cause, and without the other). An episode that is meant to be harmless
  counts as quiet, unless the loop was more than {same:.0%} slower than before and after. All other episodes are
  dropped, and so is every episode during which other work used a tenth of the machine or more.
- **Right** means: for a single cause, its bottleneck is active and has the largest score of the active ones; for a
  mixture, both bottlenecks are active; in a quiet episode, no bottleneck was raised at any time.
- Thresholds and calibration were chosen on recordings with fixed seeds, of the generators marked *tuned on*. The
  episodes below have another seed, drawn when the benchmark was started: **{seed}**.
- The [base formula](../explanation/detectors.md#base-scores) always has a largest score; below {base:.0%} its
  answer counts as "nothing". It has no scores for swap, services or waiting, so `memory` and `network` count as
  right there. For a mixture, either cause is right.
- The ranges in brackets are Wilson's 95 % intervals.

Recorded on {machine}, {when}.
"""


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


@dataclass(frozen=True, slots=True)
class Steady:
    """A long episode of steady load, with its primary bottlenecks."""

    name: str
    minutes: float
    primaries: tuple[str, ...]  # in the order in which they came

    @property
    def changes(self) -> int:
        """The number of changes after the first primary bottleneck."""
        return max(0, len(self.primaries) - 1)


def page(pairs: Sequence[Pair], steady: Sequence[Steady], dropped: int, words: Mapping[str, object]) -> str:
    """Return the page."""
    parts = [
        INTRODUCTION.format(**words),
        _summary(pairs, steady, dropped),
        "## Confusion matrix of the full diagnosis\n\n" + _matrix(confusion(pairs, lambda v: _short(v.primary))),
        "## Confusion matrix of the base formula\n\n" + _matrix(confusion(pairs, lambda v: v.base)),
        "## Confidence and correctness\n\n" + _calibration(pairs),
        "## Detection delay\n\n" + _delays(pairs),
        "## By generator\n\n" + _generators(pairs),
        "## Wrong reports\n\n" + _wrong(pairs),
        CONFORMANCE.format(**CONFORMANCE_TESTS),
    ]
    if steady:
        parts.insert(2, "## Steady load\n\n" + _steady(steady))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def figures(pairs: Sequence[Pair], steady: Sequence[Steady], dropped: int) -> list[Figure]:
    """Return the figures with a target, and figures for comparison."""
    reports = statements(pairs)
    found = [
        Figure("episodes scored", len(pairs), "episodes", "≥ 300", len(pairs) >= 300, f"{dropped} more were dropped"),
        _bounded("single causes named first", share(of_use(pairs, Use.SINGLE)), REACH_SINGLE),
        _bounded("mixtures: both named", share(of_use(pairs, Use.MIXED)), REACH_MIXED),
        _of_quiet(share(of_use(pairs, Use.QUIET))),
        _plain("base formula: single causes", share(of_use(pairs, Use.SINGLE), base_is_right)),
        _plain("base formula: quiet left alone", share(of_use(pairs, Use.QUIET), base_is_right)),
    ]
    error = calibration_error(reports)
    if error is not None:
        found.append(Figure("calibration error", error, "ratio", note=f"{len(reports)} reports"))
    found += [
        Figure(f"changes of primary in {one.minutes:.0f} min, {one.name}", one.changes, "changes",
               f"≤ {REACH_CHANGES}", one.changes <= REACH_CHANGES) for one in steady
    ]  # fmt: skip
    return found


def _bounded(name: str, found: Share, reach: float) -> Figure:
    low = found.bounds[0]
    return Figure(name, low, "lower bound", f"≥ {reach:g}", low >= reach, found.words)


def _of_quiet(found: Share) -> Figure:
    value = found.value if found.value is not None else 0.0
    return Figure("quiet episodes left alone", value, "ratio", f"≥ {REACH_QUIET:g}", value >= REACH_QUIET, found.words)


def _plain(name: str, found: Share) -> Figure:
    return Figure(name, found.value or 0.0, "ratio", note=found.words)


def _summary(pairs: Sequence[Pair], steady: Sequence[Steady], dropped: int) -> str:
    new = [pair for pair in pairs if not pair[0].tuned]
    rows = [
        ("single causes: named first", Use.SINGLE, f"lower bound ≥ {REACH_SINGLE:.0%}"),
        ("mixtures: both named", Use.MIXED, f"lower bound ≥ {REACH_MIXED:.0%}"),
        ("quiet: nothing reported", Use.QUIET, f"≥ {REACH_QUIET:.0%}"),
    ]
    lines = ["## Summary", "", "| | full diagnosis | target | base formula |", "|---|---|---|---|"]
    for name, use, reach in rows:
        of = of_use(pairs, use)
        lines.append(f"| {name} | {share(of).words} | {reach} | {share(of, base_is_right).words} |")
    single_new = of_use(new, Use.SINGLE)
    words = share(single_new, base_is_right).words
    lines.append(f"| single causes of generators never used for tuning | {share(single_new).words} | | {words} |")
    if steady:
        most = max(one.changes for one in steady)
        lines.append(f"| changes of the primary bottleneck in steady load, at most | {most} | ≤ {REACH_CHANGES} | |")
    extra = sum(len(verdict.active) > len(recorded.truth) for recorded, verdict in pairs if recorded.truth)
    early = sum(bool(verdict.before) for _, verdict in pairs)
    lines += [
        "",
        f"{len(pairs)} episodes are scored; {dropped} more were recorded and dropped, because their cause was neither",
        "clearly harmful nor clearly harmless, or because other work disturbed them.",
        f"In {extra} episodes with a cause, another bottleneck was reported in addition to the true one; in {early}, a",
        "bottleneck was reported before the cause began.",
    ]
    return "\n".join(lines)


def _matrix(matrix: Mapping[str, Counter[str]]) -> str:
    rows = sorted(matrix, key=lambda name: (name == NOTHING, name))
    columns = sorted({name for row in matrix.values() for name in row}, key=lambda name: (name == NOTHING, name))
    lines = ["| true ↓ reported → | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [
        f"| {name} | " + " | ".join(str(matrix[name][column] or "") for column in columns) + " |" for name in rows
    ]
    return "\n".join(lines)


def _calibration(pairs: Sequence[Pair]) -> str:
    reports = statements(pairs)
    error = calibration_error(reports)
    if error is None:
        return "Nothing was reported."
    lines = [
        "![Share of correct reports by confidence](labelled-runs-calibration.svg)",
        "",
        f"{len(reports)} bottlenecks were active at the end of a full phase. Mean distance between confidence and",
        f"truth: {error:.3f}.",
        "",
        "| confidence | mean | right |",
        "|---|---:|---|",
    ]
    lines += [
        f"| {b.low:.0%} … {b.high:.0%} | {b.mean_confidence:.1%} | {b.right.words} |" for b in calibration(reports)
    ]
    return "\n".join(lines)


def _delays(pairs: Sequence[Pair]) -> str:
    lines = [
        "Time from the start of the cause until the bottleneck was raised, for single causes. A bottleneck must hold",
        "for a few seconds before it is raised.",
        "",
        "| cause | raised in | median | slowest |",
        "|---|---|---:|---:|",
    ]
    lines += [
        f"| {cause} | {found.found} of {found.of} | {found.median_seconds:.0f} s | {found.slowest_seconds:.0f} s |"
        for cause, found in sorted(delays(pairs).items())
    ]
    return "\n".join(lines)


def _generators(pairs: Sequence[Pair]) -> str:
    lines = ["| generator | cause | tuned on | named first |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {BY_NAME[name].cause} | {'yes' if BY_NAME[name].tuned else '**never**'} | {found.words} |"
        for name, found in by_generator(pairs).items()
    ]
    return "\n".join(lines)


def _steady(steady: Iterable[Steady]) -> str:
    lines = ["| load | minutes | primary bottlenecks, in order | changes |", "|---|---:|---|---:|"]
    lines += [
        f"| {one.name} | {one.minutes:.0f} | {', '.join(map(_short, one.primaries)) or 'none'} | {one.changes} |"
        for one in steady
    ]
    return "\n".join(lines)


def _wrong(pairs: Sequence[Pair]) -> str:
    lines = ["| episode | cause | gain without | reported |", "|---|---|---|---|"]
    for recorded, verdict in pairs:
        if is_right(recorded, verdict):
            continue
        active = ", ".join(f"{_short(each.kind)} {each.confidence:.0%}" for each in verdict.active)
        ever = ", ".join(map(_short, verdict.ever))
        gains = ", ".join(f"×{min(found):.2f}" for found in recorded.label.gains.values() if found)
        reported = active or (ever and f"({ever})") or NOTHING
        lines.append(f"| {recorded.name} | {'; '.join(recorded.strengths)} | {gains} | {reported} |")
    if len(lines) == 2:
        return "None."
    return "Brackets: raised during the episode, but no longer active at the end of its cause.\n\n" + "\n".join(lines)


def _short(kind: str) -> str:
    return kind.removeprefix("bottleneck_")
