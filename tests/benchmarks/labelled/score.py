"""Score the diagnosis: accuracy, confusion, calibration and detection delay."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.verdict import Verdict
from tests.benchmarks.labelled.wilson import Share

NOTHING = "nothing"
BINS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)

BASE_TRUTH = {
    "cpu": ("cpu",),
    "memory": ("memory",),
    "swap": ("memory",),
    "disk": ("disk",),
    "network": ("network",),
    "service": ("network",),
    "waiting": ("network",),
}
"""The best answers that the four base scores can give for each class of cause."""

Pair = tuple[Recorded, Verdict]


class Statement(NamedTuple):
    """A bottleneck that was active in an episode, and whether it was a true cause."""

    kind: str
    confidence: float
    right: bool
    log_odds: float | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """Statements with about the same confidence, and how many of them were right."""

    low: float
    high: float
    mean_confidence: float
    right: Share


@dataclass(frozen=True, slots=True)
class Delay:
    """The time from the start of a cause until it was raised, over the episodes in which it was raised."""

    found: int
    of: int
    median_seconds: float
    slowest_seconds: float


def is_right(recorded: Recorded, verdict: Verdict) -> bool:
    """Return True if the full diagnosis agrees with the episode's label."""
    match recorded.label.use:
        case Use.SINGLE:
            return verdict.primary in recorded.truth[0]
        case Use.MIXED:
            active = {blame.kind for blame in verdict.active}
            return all(active.intersection(kinds) for kinds in recorded.truth)
        case Use.QUIET:
            return not verdict.ever
        case _:
            raise ValueError(f"{recorded.name} has no label")


def base_is_right(recorded: Recorded, verdict: Verdict) -> bool:
    """Return True if the base formula agrees with the label; for a mixture one of the two causes is enough."""
    if recorded.label.use is Use.QUIET:
        return not verdict.base
    return any(verdict.base in BASE_TRUTH[cause] for cause in recorded.causes)


def share(pairs: Iterable[Pair], right: Callable[[Recorded, Verdict], bool] = is_right) -> Share:
    """Return the share of episodes that were right."""
    found = [right(recorded, verdict) for recorded, verdict in pairs]
    return Share(sum(found), len(found))


def of_use(pairs: Iterable[Pair], use: Use) -> list[Pair]:
    """Return the episodes of one use."""
    return [pair for pair in pairs if pair[0].label.use is use]


def confusion(pairs: Iterable[Pair], answer: Callable[[Verdict], str]) -> dict[str, Counter[str]]:
    """Count the answers for each class of single cause; quiet episodes are the class `nothing`."""
    matrix: dict[str, Counter[str]] = {}
    for recorded, verdict in pairs:
        if recorded.label.use not in {Use.SINGLE, Use.QUIET}:
            continue
        truth = recorded.causes[0] if recorded.label.use is Use.SINGLE else NOTHING
        matrix.setdefault(truth, Counter())[answer(verdict) or NOTHING] += 1
    return matrix


def statements(pairs: Iterable[Pair]) -> list[Statement]:
    """Return every bottleneck that was active at the end of a full phase."""
    found = []
    for recorded, verdict in pairs:
        right = {kind for kinds in recorded.truth for kind in kinds}
        found += [Statement(one.kind, one.confidence, one.kind in right, one.log_odds) for one in verdict.active]
    return found


def calibration(found: Sequence[Statement], edges: Sequence[float] = BINS) -> list[Bin]:
    """Group statements by confidence; empty bins are left out."""
    bins = []
    for low, high in pairwise(edges):
        inside = [one for one in found if low <= one.confidence < high or (one.confidence == high == edges[-1])]
        if inside:
            mean = sum(one.confidence for one in inside) / len(inside)
            bins.append(Bin(low, high, mean, Share(sum(one.right for one in inside), len(inside))))
    return bins


def calibration_error(found: Sequence[Statement]) -> float | None:
    """Return the mean distance between confidence and truth, weighted by statements; None without statements."""
    if not found:
        return None
    return sum(b.right.of * abs(b.mean_confidence - (b.right.value or 0.0)) for b in calibration(found)) / len(found)


def delays(pairs: Iterable[Pair]) -> dict[str, Delay]:
    """Return the detection delay of each class of cause, over single causes."""
    by_cause: dict[str, list[float | None]] = {}
    for recorded, verdict in pairs:
        if recorded.label.use is not Use.SINGLE:
            continue
        seconds = [verdict.raised_after[kind] for kind in recorded.truth[0] if kind in verdict.raised_after]
        by_cause.setdefault(recorded.causes[0], []).append(min(seconds, default=None))
    found: dict[str, Delay] = {}
    for cause, every in by_cause.items():
        known = [seconds for seconds in every if seconds is not None]
        if known:
            found[cause] = Delay(len(known), len(every), median(known), max(known))
    return found


def by_generator(pairs: Sequence[Pair]) -> Mapping[str, Share]:
    """Return for each generator the share of its single causes that were named."""
    names = dict.fromkeys(recorded.generators[0] for recorded, _ in of_use(pairs, Use.SINGLE))
    return {
        name: share(pair for pair in of_use(pairs, Use.SINGLE) if pair[0].generators[0] == name)
        for name in sorted(names)
    }
