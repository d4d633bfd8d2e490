"""What is asked of the hardware: so many samples in so many hours."""

from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_reports.errors import InputError

SECONDS_A_SAMPLE = Interval(0.5, 0.75, 1.0)
"""Of a service-bound hierarchical learner on one machine, after calls are batched, pools tuned and workers parallel;
before, earlier trainings took 12 to 14 s."""

WORKERS_A_MACHINE = 8
"""At which those trainings took that time; more workers wait for the service."""


class Demand(Struct, frozen=True):
    """A data set and the time in which it should be through."""

    samples: int
    hours: float
    tokens_a_sample: float = 500.0
    bytes_a_sample: float | None = None  # raw; None: four bytes a token, as of tokenised text
    seconds_a_sample: Interval = SECONDS_A_SAMPLE  # of one machine; measured is better, where a service bounds it
    database_writes_per_second: float | None = None  # measured of the database's host
    storage_months: float = 1.0  # that data and results are kept and paid for

    def __post_init__(self) -> None:
        for key in ("samples", "hours", "tokens_a_sample", "storage_months"):
            value = getattr(self, key)
            if not 0 < value < float("inf"):
                raise InputError(f"{key} is {value}; it must be above 0")

    @property
    def seconds(self) -> float:
        """The desired time."""
        return self.hours * 3600

    @property
    def data_bytes(self) -> float:
        """The raw data set."""
        return self.samples * (self.bytes_a_sample or 4.0 * self.tokens_a_sample)
