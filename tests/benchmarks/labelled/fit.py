"""Fit the calibration that the product ships to recorded episodes of generators that may be tuned on."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.calibration import Labelled, Provenance, fit, write
from tests.benchmarks.labelled.causes.catalogue import history_of
from tests.benchmarks.labelled.causes.generator import History
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.score import Pair


def may_be_tuned_on(episodes: Iterable[Recorded]) -> list[Recorded]:
    """Return the episodes made of generators that may be tuned on; the catalogue decides, not the recording."""
    return [recorded for recorded in episodes if history_of(recorded.generators) is History.TUNED]


def labelled(pairs: Iterable[Pair]) -> Iterator[Labelled]:
    """Yield every bottleneck of every episode, active or not, because absent causes count too.

    An effect of the true cause, or another name of it, is neither right nor wrong and left out. An episode with a
    generator that must not be tuned on raises ValueError.
    """
    for recorded, verdict in pairs:
        if history_of(recorded.generators) is not History.TUNED:
            raise ValueError(f"{recorded.name} is only for scoring and must not be fitted to")
        odds = {one.kind: one.log_odds for one in verdict.weighed if one.log_odds is not None}
        right = {max(kinds, key=lambda kind: odds.get(kind, -math.inf)) for kinds in recorded.truth}
        other_names = {kind for kinds in recorded.truth for kind in kinds} - right
        for kind, score in odds.items():
            if kind in right or not (kind in other_names or right.intersection(BY_NAME[kind].explained_by)):
                yield Labelled(kind, score, kind in right)


def fit_to(pairs: Sequence[Pair], path: Path, seeds: Sequence[str]) -> None:
    """Write the calibration with its origin, and print how many statements it is fitted to."""
    found = list(labelled(pairs))
    generators = tuple(sorted({name for recorded, _ in pairs for name in recorded.generators}))
    episodes = len({(recorded.name, recorded.seed) for recorded, _ in pairs})
    write(fit(found), path, Provenance(tuple(seeds), generators, episodes))
    of, right = Counter(one.kind for one in found), Counter(one.kind for one in found if one.right)
    for kind in sorted(of):
        print(f"{kind:28} {of[kind]:4} weighed, {right[kind]:4} true")
