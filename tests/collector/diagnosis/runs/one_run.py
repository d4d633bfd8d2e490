"""A run as detectors of runs see it."""

import numpy as np

from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.fleet.ranks import RankKey, Ranks


def run_of(ranks: int) -> RunView:
    """One run, each of its ranks on its own host."""
    keys = tuple(RankKey("r", rank, f"h{rank}") for rank in range(ranks))
    none = np.full(ranks, -1)
    return RunView(
        ranks=Ranks(max_ranks=64),
        keys=keys,
        subjects=subjects([Subject(key.host, run=key.run, rank=key.rank) for key in keys]),
        runs=subjects([Subject(run="r")]),
        run_of=np.zeros(ranks, dtype=np.int64),
        sizes=np.array([ranks]),
        gpu_of=none,
        run_of_gpu=none[:0],
        work_of_gpu=none[:0],
        total_steps=np.array([np.nan]),
        started={},
    )
