"""Step reports of one run, for tests of the table of ranks."""

from flyball_collector.fleet.ranks import Ranks
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9
START = 1_900_000_000


def report(rank: int = 0, **fields: object) -> pb.StepReport:
    """Return a report of one step of half a second."""
    return pb.StepReport(**{"run": "r", "rank": rank, "step": 1, "steps": 1, "step_seconds": 0.5, **fields})  # type: ignore[arg-type]  # free fields


def add_reports(ranks: Ranks, second: int, *reports: pb.StepReport, host: str = "a") -> None:
    """Add reports in this second, and update the table."""
    now = (START + second) * SECOND
    ranks.add_reports(host, reports, now, now)
    ranks.advance(now, {})
