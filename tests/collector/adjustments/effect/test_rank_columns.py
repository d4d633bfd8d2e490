"""The ranks of a run as arrays are those of its steps."""

import numpy as np

from flyball_collector.adjustments.effect.rank_columns import RankColumns, RankTable, columns_of
from flyball_collector.fleet.fleet import Fleet
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9
NOW = 1_900_000_000 * SECOND


def report(fleet: Fleet, host: str, rank: int, second: int, run: str = "r", **fields: object) -> None:
    known: dict[str, object] = {
        "world_size": 4,
        "pid": 1,
        "step": 2 * second,
        "steps": 2,
        "step_seconds": 1.0 + rank / 8,
    }
    message = pb.StepReport(run=run, rank=rank, **{**known, **fields})  # type: ignore[arg-type]  # the test's own names
    at_ns = NOW + second * SECOND
    fleet.ranks.add_reports(host, [message], at_ns, at_ns)


def both(fleet: Fleet, second: int) -> tuple[RankColumns, RankColumns]:
    """Return the columns, and those made of the steps that everything else shows."""
    now_ns = NOW + second * SECOND
    steps = fleet.run_steps("r", now_ns)
    columns = RankTable(fleet.ranks).of("r", now_ns)
    assert steps is not None
    assert columns is not None
    return columns, columns_of(steps)


def assert_same(fleet: Fleet, second: int) -> RankColumns:
    columns, expected = both(fleet, second)
    assert columns.attempt == expected.attempt
    for name in RankColumns.__slots__[1:]:
        np.testing.assert_allclose(getattr(columns, name), getattr(expected, name), err_msg=name)
    return columns


def test_columns_are_those_of_the_runs_steps() -> None:
    """Sums, newest values and unknown ones are the same, and other runs are not mixed in."""
    fleet = Fleet()
    for second in range(1, 4):
        for rank in range(4):
            report(fleet, f"node-{rank}", rank, second, tokens=10.0, allocated_peak_bytes=10**9 + rank)
        report(fleet, "node-0", 0, second, run="q")
        report(fleet, "node-0", 7, second, run="s")
    columns = assert_same(fleet, 4)
    assert columns.steps.tolist() == [6.0] * 4
    assert np.isnan(columns.samples).all()


def test_a_rank_that_has_moved_counts_once_and_old_attempts_do_not() -> None:
    """Of two hosts with one rank the newer one counts, and ranks that the newest attempt lacks are left out."""
    fleet = Fleet()
    for rank in range(4):
        report(fleet, "old", rank, 1)
    for rank in range(2):
        report(fleet, "new", rank, 40, attempt=1)
    columns = assert_same(fleet, 41)
    assert columns.ranks.tolist() == [0.0, 1.0]
    assert columns.attempt == 1


def test_a_run_without_steps_has_no_columns() -> None:
    """An unknown run is None, not a table without rows."""
    assert RankTable(Fleet().ranks).of("r", NOW) is None
