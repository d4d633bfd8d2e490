"""The totals of one rank of a run."""

from typing import NamedTuple


class StepTotals(NamedTuple):
    """The sums of one rank since its first report; `None` where it has never reported the value."""

    run: str
    rank: int
    received_ns: int
    step: int
    steps: int
    step_seconds: float
    data_wait_seconds: float | None
    tokens: float | None
    samples: float | None
    loss: float | None
