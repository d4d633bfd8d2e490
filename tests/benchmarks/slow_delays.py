"""Measure after how many reports ranks and runs that become slower are raised, among quiet ones with noise."""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.figure import Figure, plain, report
from tests.benchmarks.quiet_runs import QuietRanks, Watch

HOSTS = 160
"""Forty runs; in half of them ranks go at their own pace."""

EVERY_SECONDS = 10.0
RATIOS = (1.15, 1.2, 1.3, 1.5, 2.0)
OF_RUNS = (1.15, 1.3)

_OLD, _YOUNG = 300, 4
"""Rounds of eight reports before: some seven hours, or five minutes."""

_REPORTS_AFTER = 240

Places = NDArray[np.int64]


def one_of_each(ranks: QuietRanks, draw: np.random.Generator) -> Places:
    """A rank of each run whose ranks go at their own pace."""
    alone = np.flatnonzero(ranks.alone)
    runs = np.unique(ranks.run_of[alone])
    return np.array([draw.choice(alone[ranks.run_of[alone] == run]) for run in runs], dtype=np.int64)


def whole_runs(ranks: QuietRanks, _: np.random.Generator) -> Places:
    """All ranks of the runs that wait for each other at every step."""
    return np.flatnonzero(~ranks.alone)


def delays(
    choose: Callable[[QuietRanks, np.random.Generator], Places], kind: str, ratio: float, seed: int, before: int = _OLD
) -> Figure:
    """Choose which ranks become slower and count the reports until this kind is raised."""
    ranks = QuietRanks(HOSTS, seed, EVERY_SECONDS)
    watch = Watch(ranks, HOSTS)
    for _ in range(before):
        watch.look()
    ranks.reports_each_time = 1
    places = choose(ranks, np.random.default_rng(seed))
    ranks.slow_down(places, ratio)
    keys = [ranks.keys[place] for place in places.tolist()]
    wanted = {(key.run, key.rank if kind == "fail_slow" else None) for key in keys}
    raised: dict[tuple[str, int | None], int] = {}
    for report_number in range(1, _REPORTS_AFTER + 1):
        for event in watch.look():
            subject = (event.subject.run, event.subject.rank)
            if event.kind.name == kind and subject in wanted:
                raised.setdefault(subject, report_number)
    reports = np.array(sorted(raised.values()), dtype=np.float64)
    middle, most = np.quantile(reports, (0.5, 0.9)) if len(reports) else (np.nan, np.nan)
    note = f"raised on {len(raised)} of {len(wanted)}; nine in ten within {most:.0f}"
    age = "" if before == _OLD else ", in a young run"
    return plain(f"{kind}: slower by {ratio:g} times{age}", float(middle), "reports", note)


if __name__ == "__main__":
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    found = []
    for ratio in RATIOS:
        for before in (_OLD, _YOUNG):
            found.append(delays(one_of_each, "fail_slow", ratio, first, before))
            print(found[-1], file=sys.stderr, flush=True)
    found += [delays(whole_runs, "run_slow", ratio, first) for ratio in OF_RUNS]
    report(found)
