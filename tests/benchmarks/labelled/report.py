"""The page of the labelled runs: what was done, what was right, what was taken for what."""

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

`python -m tests.benchmarks.labelled` makes real bottlenecks on a real machine around a small real training loop
(NumPy; loads, computes, calls a service, reports its steps over the agent's socket), records what the agent's own
probes see, and plays the recordings through the fleet, window, detectors and conditions of the product. Every number
here can be computed again from the recordings without recording anew.

- **An episode counts once**, however long it is: {full:.0f} s with its cause, a few seconds without before and after.
- **A label holds only if removing the cause makes the loop at least {harm:.0%} faster**, against its speed before and
  after (of mixtures: without the one, and without the other). What is meant to be
  harmless is a quiet episode, unless the loop was more than {same:.0%} slower with it than before and after. What is
  neither is dropped, and so is every episode beside which other work took a tenth of the machine.
- **Right** is: on a single cause, the true bottleneck stands and has the largest score of those that stand; on a
  mixture, both stand; on a quiet episode, no bottleneck was raised at any time.
- Thresholds and calibration were chosen on recordings with fixed seeds, of the generators marked *tuned on*. The
  episodes below have another seed, drawn when the bench was started: **{seed}**.
- The base formula always has a largest score; below {base:.0%} its answer is taken as "nothing". It knows neither swap
  nor a service nor waiting: `memory` and `network` are counted as right there. Of a mixture either cause will do.
- Bounds are Wilson's at 95 %.

Recorded on {machine}, {when}.
"""


CONFORMANCE = """## Conformance, listed apart

What this machine has no hardware for is told by the stand-in GPU or as data, with a known answer. These cases are
tests; they count neither for accuracy nor for calibration.

| case | test |
|---|---|
| starved GPU (saw-tooth), host-bound, small batch, PCIe at its limit, checkpoints, two causes at once | `{scores}` |
| failing cooler, memory that runs out, a co-tenant that eats it, stuck telemetry, quiet stories | `{forecast}` |
| a straggler among 16 ranks behind a real barrier, and nobody behind a quiet one | `{stragglers}` |
| power caps, cooling and strangers beside peers | `{peers}` |
| ranks and runs that became slower | `{slow}` |
"""

CONFORMANCE_TESTS = {
    "scores": "tests/collector/diagnosis/scores/test_conformance.py",
    "forecast": "tests/collector/diagnosis/forecast/test_standin.py",
    "stragglers": "tests/collector/diagnosis/runs/test_stragglers.py",
    "peers": "tests/collector/diagnosis/peers/test_peers.py",
    "slow": "tests/collector/diagnosis/runs/test_slow.py",
}


@dataclass(frozen=True, slots=True)
class Steady:
    """A long episode of steady load: how often its primary bottleneck changed."""

    name: str
    minutes: float
    primaries: tuple[str, ...]  # in the order in which they came

    @property
    def changes(self) -> int:
        """After the first that was named."""
        return max(0, len(self.primaries) - 1)


def page(pairs: Sequence[Pair], steady: Sequence[Steady], dropped: int, words: Mapping[str, object]) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION.format(**words),
        _summary(pairs, steady, dropped),
        "## What was taken for what: the full diagnosis\n\n" + _matrix(confusion(pairs, lambda v: _short(v.primary))),
        "## What was taken for what: the base formula\n\n" + _matrix(confusion(pairs, lambda v: v.base)),
        "## How sure, and how often right\n\n" + _calibration(pairs),
        "## Detection delay\n\n" + _delays(pairs),
        "## By generator\n\n" + _generators(pairs),
        "## Wrong ones\n\n" + _wrong(pairs),
        CONFORMANCE.format(**CONFORMANCE_TESTS),
    ]
    if steady:
        parts.insert(2, "## Steady load\n\n" + _steady(steady))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def figures(pairs: Sequence[Pair], steady: Sequence[Steady], dropped: int) -> list[Figure]:
    """The numbers that have a bound, and those that put them into proportion."""
    said = statements(pairs)
    found = [
        Figure("episodes scored", len(pairs), "episodes", "≥ 300", len(pairs) >= 300, f"{dropped} more were dropped"),
        _bounded("single causes named first", share(of_use(pairs, Use.SINGLE)), REACH_SINGLE),
        _bounded("mixtures: both named", share(of_use(pairs, Use.MIXED)), REACH_MIXED),
        _of_quiet(share(of_use(pairs, Use.QUIET))),
        _plain("base formula: single causes", share(of_use(pairs, Use.SINGLE), base_is_right)),
        _plain("base formula: quiet left alone", share(of_use(pairs, Use.QUIET), base_is_right)),
    ]
    error = calibration_error(said)
    if error is not None:
        found.append(Figure("calibration error", error, "ratio", note=f"{len(said)} statements"))
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
        ("quiet: nobody blamed", Use.QUIET, f"≥ {REACH_QUIET:.0%}"),
    ]
    lines = ["## Summary", "", "| | full diagnosis | to reach | base formula |", "|---|---|---|---|"]
    for name, use, reach in rows:
        of = of_use(pairs, use)
        lines.append(f"| {name} | {share(of).words} | {reach} | {share(of, base_is_right).words} |")
    single_new = of_use(new, Use.SINGLE)
    words = share(single_new, base_is_right).words
    lines.append(f"| single causes by generators never tuned on | {share(single_new).words} | | {words} |")
    if steady:
        lines.append(
            f"| most changes of primary in steady load | {max(one.changes for one in steady)} | ≤ {REACH_CHANGES} | |"
        )
    extra = sum(len(verdict.stood) > len(recorded.truth) for recorded, verdict in pairs if recorded.truth)
    early = sum(bool(verdict.before) for _, verdict in pairs)
    lines += [
        "",
        f"{len(pairs)} episodes are scored; {dropped} more were recorded and dropped because their cause was neither",
        "clearly harmful nor clearly harmless, or other work disturbed.",
        f"In {extra} episodes with a cause something else was blamed beside the truth; in {early} something was blamed",
        "before the cause was there.",
    ]
    return "\n".join(lines)


def _matrix(matrix: Mapping[str, Counter[str]]) -> str:
    rows = sorted(matrix, key=lambda name: (name == NOTHING, name))
    columns = sorted({said for row in matrix.values() for said in row}, key=lambda name: (name == NOTHING, name))
    lines = ["| true ↓ said → | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(str(matrix[name][said] or "") for said in columns) + " |" for name in rows]
    return "\n".join(lines)


def _calibration(pairs: Sequence[Pair]) -> str:
    said = statements(pairs)
    error = calibration_error(said)
    if error is None:
        return "Nothing was said."
    lines = [
        "![What was right, against how sure it was said](labelled-runs-calibration.svg)",
        "",
        f"{len(said)} statements stood at the end of a full phase. Mean distance of confidence and truth: {error:.3f}.",
        "",
        "| confidence | mean | right |",
        "|---|---:|---|",
    ]
    lines += [f"| {b.low:.0%} … {b.high:.0%} | {b.mean_confidence:.1%} | {b.right.words} |" for b in calibration(said)]
    return "\n".join(lines)


def _delays(pairs: Sequence[Pair]) -> str:
    lines = [
        "From the moment at which the cause began to the second in which it was raised: a bottleneck must hold for",
        "some seconds before it is. Single causes.",
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
    lines = ["| load | minutes | primary bottlenecks, in their order | changes |", "|---|---:|---|---:|"]
    lines += [
        f"| {one.name} | {one.minutes:.0f} | {', '.join(map(_short, one.primaries)) or 'none'} | {one.changes} |"
        for one in steady
    ]
    return "\n".join(lines)


def _wrong(pairs: Sequence[Pair]) -> str:
    lines = ["| episode | what it was | gain without | what stood |", "|---|---|---|---|"]
    for recorded, verdict in pairs:
        if is_right(recorded, verdict):
            continue
        stood = ", ".join(f"{_short(said.kind)} {said.confidence:.0%}" for said in verdict.stood)
        ever = ", ".join(map(_short, verdict.ever))
        gains = ", ".join(f"×{min(found):.2f}" for found in recorded.label.gains.values() if found)
        said = stood or (ever and f"({ever})") or NOTHING
        lines.append(f"| {recorded.name} | {'; '.join(recorded.strengths)} | {gains} | {said} |")
    return "\n".join(lines) if len(lines) > 2 else "None."


def _short(kind: str) -> str:
    return kind.removeprefix("bottleneck_")
