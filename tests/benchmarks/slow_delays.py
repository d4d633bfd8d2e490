"""Measure after how many reports ranks and runs that become slower are raised, among quiet ones with noise."""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.figure import Figure, plain, report
from tests.benchmarks.quiet_runs import TURN, QuietRanks, Watch

HOSTS = 160
"""Forty runs; in half of them ranks go at their own pace."""

EVERY_SECONDS = 10.0
RATIOS = (1.15, 1.3, 2.0, 4.0)

_ROUNDS_BEFORE = 300  # some seven hours
_ROUNDS_AFTER = 90  # two more

Places = NDArray[np.int64]


def one_of_each(ranks: QuietRanks, draw: np.random.Generator) -> Places:
    """A rank of each run whose ranks go at their own pace."""
    alone = np.flatnonzero(ranks.alone)
    runs = np.unique(ranks.run_of[alone])
    return np.array([draw.choice(alone[ranks.run_of[alone] == run]) for run in runs], dtype=np.int64)


def whole_runs(ranks: QuietRanks, _: np.random.Generator) -> Places:
    """All ranks of the runs that wait for each other at every step."""
    return np.flatnonzero(~ranks.alone)


def delays(choose: Callable[[QuietRanks, np.random.Generator], Places], kind: str, ratio: float, seed: int) -> Figure:
    """Choose which ranks become slower and count the reports until this kind is raised."""
    ranks = QuietRanks(HOSTS, seed, EVERY_SECONDS)
    watch = Watch(ranks, HOSTS)
    for _ in range(_ROUNDS_BEFORE):
        watch.look()
    places = choose(ranks, np.random.default_rng(seed))
    ranks.slow_down(places, ratio)
    keys = [ranks.keys[place] for place in places.tolist()]
    wanted = {(key.run, key.rank if kind == "fail_slow" else None) for key in keys}
    raised: dict[tuple[str, int | None], int] = {}
    for turn in range(1, _ROUNDS_AFTER + 1):
        for event in watch.look():
            subject = (event.subject.run, event.subject.rank)
            if event.kind.name == kind and subject in wanted:
                raised.setdefault(subject, turn * TURN)
    reports = np.array(sorted(raised.values()), dtype=np.float64)
    middle, most = np.quantile(reports, (0.5, 0.9)) if len(reports) else (np.nan, np.nan)
    note = f"raised on {len(raised)} of {len(wanted)}; nine in ten within {most:.0f}"
    return plain(f"{kind}: slower by {ratio:g} times", float(middle), "reports", note)


if __name__ == "__main__":
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    found = []
    for ratio in RATIOS:
        found += [delays(one_of_each, "fail_slow", ratio, first), delays(whole_runs, "run_slow", ratio, first)]
        print(*found[-2:], sep="\n", file=sys.stderr, flush=True)
    report(found)
