"""Finds the fastest layouts that fit, and estimates memory for as few layouts as possible."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layout_search.lazy_memory import Positions
from flyball_planner.layout_search.ranking import Column, classes

FIRST_LOOK = 64  # rows per case; most fast layouts fit
WIDENING = 4  # growth of the next look


def fastest_fitting(
    cases: Sequence[Positions],
    seconds: Column,
    kinds: NDArray[np.intp],
    shown: Sequence[int],
    surely_fit: Callable[[Positions], NDArray[np.bool_]],
) -> list[Positions]:
    """Return for each case enough fitting rows to contain everything that `listed` would show.

    Rows of one class of seconds and one of the `kinds` count as one.
    """
    queues = [rows[np.argsort(seconds[rows], kind="stable")] for rows in cases]
    found: list[list[Positions]] = [[] for _ in queues]
    waiting, start, end = list(range(len(queues))), 0, FIRST_LOOK
    while waiting:
        looked = [queues[case][start:end] for case in waiting]
        fit = surely_fit(np.concatenate(looked))
        for case, rows, mask in zip(waiting, looked, _split(fit, looked), strict=True):
            found[case].append(rows[mask])
        waiting = [
            case
            for case in waiting
            if end < len(queues[case])
            and not _enough(np.concatenate(found[case]), queues[case][end], seconds, kinds, shown[case])
        ]
        start, end = end, end * WIDENING
    return [np.sort(np.concatenate(each)) for each in found]


def _enough(fitting: Positions, following: int, seconds: Column, kinds: NDArray[np.intp], shown: int) -> bool:
    """Return True if enough fitting rows are in a faster class than the next row, so that no later row can win."""
    if not len(fitting):
        return False
    found = classes(seconds[np.append(fitting, following)], seconds[fitting[0]])
    faster = found[:-1] < found[-1]
    if np.count_nonzero(faster) < shown:
        return False
    # With indices numpy.unique does not import numpy.ma, which takes longer than this search.
    _, first = np.unique(np.stack([found[:-1][faster], kinds[fitting[faster]]]), axis=1, return_index=True)
    return len(first) >= shown


def _split(mask: NDArray[np.bool_], parts: Sequence[Positions]) -> list[NDArray[np.bool_]]:
    return np.split(mask, np.cumsum([len(each) for each in parts])[:-1])
