"""What a calibration hands to a plan: the narrowed beliefs of one device and kind of model, and what narrowed them."""

from msgspec import Struct

from flyball_planner.calibration.belief import Belief
from flyball_planner.calibration.measured import Kind
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS, Constants


class Lesson(Struct, frozen=True):
    """What runs teach of one quantity."""

    runs: int
    factor: Interval  # what is estimated now over what was estimated before
    width_before: float  # of the 90 % interval, as a share of its middle
    width_after: float


class Learned(Struct, frozen=True):
    """What the measured runs of one kind teach; without any the estimates stay as they are."""

    kind: Kind | None = None
    belief: Belief | None = None  # None: the one that all published suites have in common
    constants: Constants = CONSTANTS
    steps: Lesson | None = None
    memory: Lesson | None = None
    source: str = ""  # of the runs
    others: tuple[Kind, ...] = ()  # kinds of those that teach nothing here
    refused: int = 0


UNTAUGHT = Learned()
