"""What runs have done so far, summed from their step reports: counters a (host, run, rank)."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from flyball_proto.v1 import telemetry_pb2 as pb

MAX_RANKS = 256
"""Ranks remembered a host: a host has at most a few dozen accelerators, and a report costs its sender nothing."""

FORGET_AFTER_NS = 300 * 10**9
"""A rank that has said nothing for this long is over."""


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


class StepLedger:
    """The totals of one host's ranks; the longest silent goes when there are too many."""

    __slots__ = ("_totals",)

    def __init__(self) -> None:
        self._totals: dict[tuple[str, int], StepTotals] = {}

    def add(self, reports: Iterable[pb.StepReport], received_ns: int) -> None:
        """Add reports in the order of their steps."""
        for report in reports:
            key = (report.run, report.rank)
            before = self._totals.pop(key, None)  # the dict stays in the order of the last report
            if before is None and len(self._totals) >= MAX_RANKS:
                del self._totals[next(iter(self._totals))]
            self._totals[key] = _sum(before, report, received_ns)

    def current(self, now_ns: int) -> tuple[StepTotals, ...]:
        """The ranks that still report."""
        for key in [k for k, totals in self._totals.items() if now_ns - totals.received_ns > FORGET_AFTER_NS]:
            del self._totals[key]
        return tuple(self._totals.values())


def _sum(before: StepTotals | None, report: pb.StepReport, received_ns: int) -> StepTotals:
    start = before or StepTotals(report.run, report.rank, 0, 0, 0, 0.0, None, None, None, None)
    return StepTotals(
        report.run,
        report.rank,
        received_ns,
        report.step,
        start.steps + report.steps,
        start.step_seconds + (_amount(report, "step_seconds") or 0.0),
        _plus(start.data_wait_seconds, _optional(report, "data_wait_seconds")),
        _plus(start.tokens, _optional(report, "tokens")),
        _plus(start.samples, _optional(report, "samples")),
        report.loss if report.HasField("loss") and math.isfinite(report.loss) else None,
    )


def _optional(report: pb.StepReport, field: str) -> float | None:
    return _amount(report, field) if report.HasField(field) else None  # type: ignore[arg-type]  # a name of ours


def _amount(report: pb.StepReport, field: str) -> float | None:
    """A counter cannot take what is negative or no number."""
    value: float = getattr(report, field)
    return value if 0 <= value < math.inf else None


def _plus(total: float | None, value: float | None) -> float | None:
    return total if value is None else value + (total or 0.0)
