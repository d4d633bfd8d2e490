"""Run views for tests of run detectors."""

from collections.abc import Sequence

import numpy as np

from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.fleet.ranks import RankKey, Ranks


def run_of(ranks: int) -> RunView:
    """Return one run with each rank on its own host."""
    return runs_of([ranks])


def runs_of(sizes: Sequence[int]) -> RunView:
    """Return runs with these numbers of ranks, each rank on its own host."""
    keys = tuple(RankKey(f"r{run}", rank, f"h{run}-{rank}") for run, size in enumerate(sizes) for rank in range(size))
    none = np.full(len(keys), -1)
    return RunView(
        ranks=Ranks(max_ranks=64),
        keys=keys,
        subjects=subjects([Subject(key.host, run=key.run, rank=key.rank) for key in keys]),
        runs=subjects([Subject(run=f"r{run}") for run in range(len(sizes))]),
        run_of=np.repeat(np.arange(len(sizes)), sizes),
        sizes=np.array(sizes, dtype=np.int64),
        gpu_of=none,
        run_of_gpu=none[:0],
        work_of_gpu=none[:0],
        total_steps=np.full(len(sizes), np.nan),
        total_samples=np.full(len(sizes), np.nan),
        started={},
    )
