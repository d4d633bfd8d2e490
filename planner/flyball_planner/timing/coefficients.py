"""How well a device and its software do their work: few numbers, fitted to measured runs, and how sure they are."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from flyball_planner.calibration.belief import Belief

Vector = NDArray[np.float64]
Coefficient = float | Vector
"""One for all rows, or one for each."""


FILE = Path(__file__).with_name("data") / "coefficients.csv"


class Coefficients(Struct, frozen=True):
    """Shares are of what the hardware can do at best; all are positive, and vary by factors rather than by sums."""

    matmul: Coefficient  # share of the best product's rate that the products of a training reach
    ramp: Coefficient  # waves of a product's tiles that filling and draining the device costs
    unaligned: Coefficient  # share of the speed that is left where a matrix's edge is no multiple of 64
    convolution: Coefficient  # share of a product's speed that a convolution reaches
    grouped: Coefficient  # the same of experts' products
    attention: Coefficient  # share of the best product's rate that flash attention reaches
    batched: Coefficient  # the same of attention's products where they are computed one head at a time
    memory: Coefficient  # share of the memory's bandwidth
    launch: Coefficient  # seconds that the host needs for one kernel
    link: Coefficient  # share of the links within a node
    hop: Coefficient  # seconds of one hop within a node; between nodes three times that
    network: Coefficient  # share of the network between nodes
    exposed: Coefficient  # share of overlapped exchange that slows the computation nevertheless
    fixed: Coefficient  # seconds a step, beside all that
    uneven: Coefficient  # what each doubling of nodes adds to a step, as a share
    pace: Coefficient = 1.0  # times that a step takes for reasons that no part tells; found by calibration


PACE = "pace"
NAMES = tuple(name for name in Coefficients.__struct_fields__ if name != PACE)
"""Those that are fitted to suites."""
SCATTER = "scatter"
PACE_DEVIATION = 0.1
"""Of the logarithm of a cluster's pace. Published suites need none, their coefficients tell them apart; with as much as
this, five runs of a suite predict its others as well as without, and wider ones only widen the intervals."""


def from_logarithms(logarithms: Vector) -> Coefficients:
    """The coefficients of a point that a fit or a calibration is at."""
    return Coefficients(*(float(each) for each in np.exp(logarithms)))


def row_by_row(logarithms: Vector) -> Coefficients:
    """The coefficients of several points, each row of a work at one of them."""
    return Coefficients(*np.exp(logarithms).T)


@cache
def fitted(left_out: str = "") -> Belief:
    """What measured suites say of the coefficients, one of them left out so that it can be judged; unknown ones were
    never in.

    The file is written by `python -m flyball_planner.accuracy.fit_timing`, which says how.
    """
    rows = {(row["left_out"], row["name"]): row for row in _rows()}
    suite = left_out if (left_out, SCATTER) in rows else ""
    chosen = [rows[suite, name] for name in NAMES]
    return Belief(
        names=NAMES,
        middle=np.log([float(row["middle"]) for row in chosen]),
        covariance=np.diag([float(row["deviation"]) ** 2 for row in chosen]),
        scatter=float(rows[suite, SCATTER]["middle"]),
    )


def with_pace(belief: Belief) -> Belief:
    """What measured runs begin from: they may also all be slower or faster together, whatever the parts say."""
    known = len(belief.names)
    covariance = np.zeros((known + 1, known + 1))
    covariance[:known, :known] = belief.covariance
    covariance[known, known] = PACE_DEVIATION**2
    return replace(belief, names=(*belief.names, PACE), middle=np.append(belief.middle, 0.0), covariance=covariance)


def _rows() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))
