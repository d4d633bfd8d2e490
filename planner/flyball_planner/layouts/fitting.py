"""Of layouts in the order of their speed, those that surely fit: memory is estimated of no more than it takes."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layouts.memories import Positions
from flyball_planner.layouts.ranking import Column, classes

FIRST_LOOK = 64  # rows of each case: most layouts that are fast fit
WIDENING = 4  # times as many are looked at where these are not enough


def fastest_fitting(
    cases: Sequence[Positions],
    seconds: Column,
    shown: Sequence[int],
    surely_fit: Callable[[Positions], NDArray[np.bool_]],
) -> list[Positions]:
    """Of each case's rows so many that fit that all which `order` puts first, as many as are shown, are among them."""
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
            and not _enough(seconds[np.concatenate(found[case])], seconds[queues[case][end]], shown[case])
        ]
        start, end = end, end * WIDENING
    return [np.sort(np.concatenate(each)) for each in found]


def _enough(fitting: Column, next_seconds: float, shown: int) -> bool:
    """Whether so many are of a faster class than the next row that none of those to come stands before them."""
    if not len(fitting):
        return False
    found = classes(np.append(fitting, next_seconds), fitting[0])
    return bool(np.count_nonzero(found[:-1] < found[-1]) >= shown)


def _split(whole: NDArray[np.bool_], parts: Sequence[Positions]) -> list[NDArray[np.bool_]]:
    return np.split(whole, np.cumsum([len(each) for each in parts])[:-1])
