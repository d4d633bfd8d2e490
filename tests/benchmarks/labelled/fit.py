"""Fit the calibration that the product ships to recorded episodes."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.calibration import Labelled, fit, write
from tests.benchmarks.labelled.score import Pair


def labelled(pairs: Iterable[Pair]) -> Iterator[Labelled]:
    """Yield every bottleneck of every episode, active or not, because absent causes count too.

    An effect of the true cause, or another name of it, is neither right nor wrong and left out.
    """
    for recorded, verdict in pairs:
        odds = {one.kind: one.log_odds for one in verdict.weighed if one.log_odds is not None}
        right = {max(kinds, key=lambda kind: odds.get(kind, -math.inf)) for kinds in recorded.truth}
        other_names = {kind for kinds in recorded.truth for kind in kinds} - right
        for kind, score in odds.items():
            if kind in right or not (kind in other_names or right.intersection(BY_NAME[kind].explained_by)):
                yield Labelled(kind, score, kind in right)


def fit_to(pairs: Sequence[Pair], path: Path) -> None:
    """Write the calibration and print how many statements it is fitted to."""
    found = list(labelled(pairs))
    write(fit(found), path)
    of, right = Counter(one.kind for one in found), Counter(one.kind for one in found if one.right)
    for kind in sorted(of):
        print(f"{kind:28} {of[kind]:4} weighed, {right[kind]:4} true")
