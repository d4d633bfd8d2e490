"""How often the diagnosis was right, what it took for what, how sure it was, and how soon it said so."""

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
"""What the four base scores could best say of each class of cause."""

Pair = tuple[Recorded, Verdict]


class Statement(NamedTuple):
    """One kind that stood in an episode, and whether it was so."""

    kind: str
    confidence: float
    right: bool
    log_odds: float | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """Statements of about one confidence, and how many were right."""

    low: float
    high: float
    mean_confidence: float
    right: Share


@dataclass(frozen=True, slots=True)
class Delay:
    """From a cause's beginning to its being raised, over the episodes in which it was."""

    found: int
    of: int
    median_seconds: float
    slowest_seconds: float


def is_right(recorded: Recorded, verdict: Verdict) -> bool:
    """Whether the full diagnosis said what an episode's label says."""
    match recorded.label.use:
        case Use.SINGLE:
            return verdict.primary in recorded.truth[0]
        case Use.MIXED:
            stood = {said.kind for said in verdict.stood}
            return all(stood.intersection(kinds) for kinds in recorded.truth)
        case Use.QUIET:
            return not verdict.ever
        case _:
            raise ValueError(f"{recorded.name} has no label")


def base_is_right(recorded: Recorded, verdict: Verdict) -> bool:
    """The same of the base formula: of a mixture it can name one; either will do."""
    if recorded.label.use is Use.QUIET:
        return not verdict.base
    return any(verdict.base in BASE_TRUTH[cause] for cause in recorded.causes)


def share(pairs: Iterable[Pair], right: Callable[[Recorded, Verdict], bool] = is_right) -> Share:
    """How many were right."""
    found = [right(recorded, verdict) for recorded, verdict in pairs]
    return Share(sum(found), len(found))


def of_use(pairs: Iterable[Pair], use: Use) -> list[Pair]:
    """The episodes of one use."""
    return [pair for pair in pairs if pair[0].label.use is use]


def confusion(pairs: Iterable[Pair], said: Callable[[Verdict], str]) -> dict[str, Counter[str]]:
    """Class of the one true cause → what was said first → how often; quiet episodes are the class `nothing`."""
    matrix: dict[str, Counter[str]] = {}
    for recorded, verdict in pairs:
        if recorded.label.use not in {Use.SINGLE, Use.QUIET}:
            continue
        truth = recorded.causes[0] if recorded.label.use is Use.SINGLE else NOTHING
        matrix.setdefault(truth, Counter())[said(verdict) or NOTHING] += 1
    return matrix


def statements(pairs: Iterable[Pair]) -> list[Statement]:
    """Everything that stood at the end of the full phases."""
    said = []
    for recorded, verdict in pairs:
        right = {kind for kinds in recorded.truth for kind in kinds}
        said += [Statement(one.kind, one.confidence, one.kind in right, one.log_odds) for one in verdict.stood]
    return said


def calibration(said: Sequence[Statement], edges: Sequence[float] = BINS) -> list[Bin]:
    """Statements by confidence; bins without any are left out."""
    bins = []
    for low, high in pairwise(edges):
        inside = [one for one in said if low <= one.confidence < high or (one.confidence == high == edges[-1])]
        if inside:
            mean = sum(one.confidence for one in inside) / len(inside)
            bins.append(Bin(low, high, mean, Share(sum(one.right for one in inside), len(inside))))
    return bins


def calibration_error(said: Sequence[Statement]) -> float | None:
    """Mean distance of confidence and truth, weighted by how much was said; `None` when nothing was."""
    if not said:
        return None
    return sum(b.right.of * abs(b.mean_confidence - (b.right.value or 0.0)) for b in calibration(said)) / len(said)


def delays(pairs: Iterable[Pair]) -> dict[str, Delay]:
    """By class of cause, over episodes of one cause."""
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
    """How often each generator's single episodes were named."""
    names = dict.fromkeys(recorded.generators[0] for recorded, _ in of_use(pairs, Use.SINGLE))
    return {
        name: share(pair for pair in of_use(pairs, Use.SINGLE) if pair[0].generators[0] == name)
        for name in sorted(names)
    }
