"""Fits the calibration that the product ships to recorded episodes: what was said, and whether it was so."""

from collections.abc import Sequence
from pathlib import Path

from flyball_collector.diagnosis.scores.calibration import Labelled, fit, write
from tests.benchmarks.labelled.score import Pair, Statement, statements


def labelled(said: Sequence[Statement]) -> list[Labelled]:
    """Statements whose raw log-odds are known."""
    return [Labelled(kind=one.kind, score=one.log_odds, right=one.right) for one in said if one.log_odds is not None]


def fit_to(pairs: Sequence[Pair], path: Path) -> None:
    """Write the calibration; say what it rests on."""
    said = statements(pairs)
    write(fit(labelled(said)), path)
    for kind in sorted({one.kind for one in said}):
        of = [one for one in said if one.kind == kind]
        print(f"{kind:28} {len(of):4} statements, {sum(one.right for one in of):4} right")
