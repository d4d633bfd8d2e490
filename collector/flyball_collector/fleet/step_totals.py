"""The totals of one rank of a run."""

from typing import NamedTuple


class CallTotals(NamedTuple):
    """The calls of one rank to a service since its first report."""

    service: str
    calls: int
    seconds: float
    errors: int


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
    device_seconds: float | None = None
    calls: tuple[CallTotals, ...] = ()
    allocated_peak_bytes: float | None = None
    reserved_peak_bytes: float | None = None
