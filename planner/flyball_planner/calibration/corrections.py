"""The result of a calibration as plans use it: the corrected models of one device and kind of model."""

from msgspec import Struct

from flyball_planner.belief import Belief
from flyball_planner.calibration.measured_runs import RunKind
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS, Constants


class Correction(Struct, frozen=True):
    """The correction of one quantity by measured runs."""

    runs: int
    factor: Interval  # new estimate over previous estimate
    width_before: float  # of the 90 % interval, relative to its middle
    width_after: float


class Learned(Struct, frozen=True):
    """The result of calibration for one kind of run; without runs the estimates stay unchanged."""

    kind: RunKind | None = None
    belief: Belief | None = None  # None: the belief fitted to all published suites
    constants: Constants = CONSTANTS
    steps: Correction | None = None
    memory: Correction | None = None
    source: str = ""  # file or key of the runs
    others: tuple[RunKind, ...] = ()  # kinds of runs that do not apply
    refused: int = 0


NOTHING_LEARNED = Learned()
