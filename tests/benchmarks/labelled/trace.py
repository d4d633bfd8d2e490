"""Measure the speed of a loop: its steps in short intervals, and their median."""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

STEP = struct.Struct("<dd")
PIECE_SECONDS = 0.5


def read_trace(path: Path) -> NDArray[np.float64]:
    """Times at which steps ended."""
    data = path.read_bytes()
    whole = len(data) // STEP.size * STEP.size
    return np.frombuffer(data[:whole], dtype="<f8").reshape(-1, 2)[:, 0].astype(np.float64)


def speed(ends: NDArray[np.float64], begin: float, end: float) -> float | None:
    """Steps a second between two instants: the median over pieces of half a second; a step counts as it goes on.

    `None` where the trace does not reach: nothing is known of a time before the first or after the last step.
    """
    pieces = int((end - begin) / PIECE_SECONDS)
    if pieces < 1 or len(ends) < 2 or ends[0] > begin:
        return None
    edges = np.linspace(begin, end, pieces + 1)
    edges = edges[edges <= ends[-1]]
    if len(edges) < 2:
        return None
    done = np.interp(edges, ends, np.arange(len(ends), dtype=np.float64))
    return float(np.median(np.diff(done) / np.diff(edges)))
