"""Recent outcomes of adjustments on a host, from its records: answers of ranks, and what they did without memory."""

from typing import NamedTuple

from flyball_proto.v1 import telemetry_pb2 as pb

MAX_OUTCOMES = 64
"""Outcomes kept for each host. The store keeps all of them with their records."""

_LONGEST = 500


class AdjustmentOutcome(NamedTuple):
    """One outcome. `time_ns` is the host's wall clock, and the texts come from the host. Values are JSON texts."""

    time_ns: int
    run: str
    attempt: int
    rank: int
    pid: int
    outcome: str  # prepared, veto, applied, aborted, refused, expired, out_of_memory
    id: str  # of the adjustment; empty for out_of_memory
    name: str
    value_from: str
    value_to: str
    observed: str
    step: int
    reason: str
    seconds: float


def add_outcomes_of(outcomes: tuple[AdjustmentOutcome, ...], record: pb.Record) -> tuple[AdjustmentOutcome, ...]:
    """Add the outcomes of a parsed record. Return the newest in order of time, without duplicates."""
    if not record.adjustments:
        return outcomes
    return tuple(sorted({*outcomes, *map(_outcome, record.adjustments)})[-MAX_OUTCOMES:])


def _outcome(message: pb.AdjustmentOutcome) -> AdjustmentOutcome:
    return AdjustmentOutcome(
        time_ns=message.time_ns,
        run=message.run[:_LONGEST],
        attempt=message.attempt,
        rank=message.rank,
        pid=message.pid,
        outcome=message.outcome[:_LONGEST],
        id=message.id[:_LONGEST],
        name=message.name[:_LONGEST],
        value_from=getattr(message, "from")[:_LONGEST],  # `from` is a Python keyword
        value_to=message.to[:_LONGEST],
        observed=message.observed[:_LONGEST],
        step=message.step,
        reason=message.reason[:_LONGEST],
        seconds=message.seconds if 0 <= message.seconds < float("inf") else 0.0,
    )
