"""What a rank of a run has done so far."""

from typing import NamedTuple


class StepTotals(NamedTuple):
    """The sums of one rank since it was first heard of; `None` where it never said."""

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
