"""The demand on the hardware: a number of samples in a number of hours."""

from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_reports.errors import InputError

SECONDS_PER_SAMPLE = Interval(0.5, 0.75, 1.0)
"""Seconds per sample of a service-bound hierarchical learner on one machine with batched calls, tuned pools and
parallel workers. Earlier trainings without these took 12 to 14 s."""

WORKERS_A_MACHINE = 8
"""The number of workers of those trainings; more workers only wait for the service."""


class Demand(Struct, frozen=True):
    """A data set and the time in which it should be processed."""

    samples: int
    hours: float
    tokens_per_sample: float = 500.0
    bytes_per_sample: float | None = None  # raw; None: four bytes per token, as for tokenised text
    seconds_per_sample: Interval = SECONDS_PER_SAMPLE  # on one machine; if a service is the limit, measure it
    database_writes_per_second: float | None = None  # measured on the database host
    storage_months: float = 1.0  # months for which data and results are stored and paid

    def __post_init__(self) -> None:
        for key in ("samples", "hours", "tokens_per_sample", "storage_months"):
            value = getattr(self, key)
            if not 0 < value < float("inf"):
                raise InputError(f"{key} must be above 0, not {value}")

    @property
    def seconds(self) -> float:
        """Return the desired time."""
        return self.hours * 3600

    @property
    def data_bytes(self) -> float:
        """Return the size of the raw data set."""
        return self.samples * (self.bytes_per_sample or 4.0 * self.tokens_per_sample)
