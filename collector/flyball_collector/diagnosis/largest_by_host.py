"""Finds the largest of the values that each host has: of its GPUs, disks or interfaces."""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

FEW = 16
"""Up to this number of values, those of all hosts are compared one after the other instead of host by host."""


def largest_by_host(values: Floats, hosts: Places, count: int) -> Floats:
    """Return the largest known value of each of `count` hosts, along the last axis; NaN where none is known.

    `hosts` holds the host of each value, in ascending order.
    """
    found = np.full((*values.shape[:-1], count), np.nan)
    if not len(hosts):
        return found
    starts = np.flatnonzero(np.diff(hosts, prepend=-1))
    each = len(hosts) // len(starts)
    if each <= FEW and np.array_equal(starts, np.arange(0, len(hosts), each)):  # as many on each host
        largest = reduce(np.fmax, (values[..., first::each] for first in range(each)))
    else:
        largest = np.fmax.reduceat(values, starts, axis=-1)
    found[..., hosts[starts]] = largest
    return found
