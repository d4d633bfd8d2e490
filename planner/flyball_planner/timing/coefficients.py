"""The coefficients of the time model: how well a device and its software work, with their uncertainty."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.belief import Belief

Vector = NDArray[np.float64]
Coefficient = float | Vector
"""One value for all rows, or one for each row."""


FILE = Path(__file__).with_name("data") / "coefficients.csv"


class Coefficients(Struct, frozen=True):
    """Shares of the hardware's best, and a few times. All are positive and vary by factors."""

    matmul: Coefficient  # share of the best product's rate that products reach in a training
    ramp: Coefficient  # waves of tiles lost while the device fills and drains
    tile: Coefficient  # seconds to begin and to write one tile of a product
    unaligned: Coefficient  # remaining share of the speed if an edge is not a multiple of 64
    convolution: Coefficient  # share of a product's speed that a convolution reaches
    grouped: Coefficient  # the same for experts' products
    copying: Coefficient  # passes over the copies of tokens for experts: sorted, sent, sorted back and summed
    attention: Coefficient  # share of the best product's rate that flash attention reaches
    batched: Coefficient  # the same for attention products that are computed head by head
    memory: Coefficient  # share of the memory's bandwidth
    launch: Coefficient  # seconds that the host needs to launch one kernel
    link: Coefficient  # share of the links within a node
    hop: Coefficient  # seconds of one hop within a node; three times as much between nodes
    network: Coefficient  # share of the network between nodes
    exposed: Coefficient  # share of overlapped communication that still slows the computation
    fixed: Coefficient  # additional seconds per step of a usual language model
    uneven: Coefficient  # share that each doubling of nodes adds to a step
    pace: Coefficient = 1.0  # factor on the complete step, for reasons that no other coefficient explains


PACE = "pace"
NAMES = tuple(name for name in Coefficients.__struct_fields__ if name != PACE)
"""Coefficients that are fitted to suites."""
SCATTER = "scatter"


def from_logarithms(logarithms: Vector) -> Coefficients:
    """Return the coefficients at a point of a fit or calibration."""
    return Coefficients(*(float(each) for each in np.exp(logarithms)))


def row_by_row(logarithms: Vector) -> Coefficients:
    """Return the coefficients of several points, one for each row of a work."""
    return Coefficients(*np.exp(logarithms).T)


@cache
def fitted(left_out: str = "") -> Belief:
    """Return the belief about the coefficients that the measured suites give, optionally without one suite to judge it.

    A cluster that is not part of the fit may also be slower or faster as a whole: its pace varies as the suites' do
    when each is predicted from the others. A suite that is not part of the fit changes nothing.
    `python -m flyball_planner.accuracy.fit_timing` writes the file.
    """
    rows = {(row["left_out"], row["name"]): row for row in _rows()}
    suite = left_out if (left_out, SCATTER) in rows else ""
    pace = rows[left_out if (left_out, PACE) in rows else "", PACE]
    chosen = [*(rows[suite, name] for name in NAMES), pace]
    return Belief(
        names=(*NAMES, PACE),
        middle=np.log([float(row["middle"]) for row in chosen]),
        covariance=np.diag([float(row["deviation"]) ** 2 for row in chosen]),
        scatter=float(rows[suite, SCATTER]["middle"]),
    )


def _rows() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))
