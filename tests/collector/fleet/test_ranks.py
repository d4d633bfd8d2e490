"""The table of ranks: which ranks have a row, and when they are removed."""

import math

import numpy as np

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import MAX_RANKS_OF_A_HOST, Ranks
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.fleet.step_reports import SECOND, START, add_reports, report


def test_ranks_without_reports_are_removed_unless_their_process_exists() -> None:
    """After five minutes; a process of the run may hang, so its rank stays for a day."""
    ranks = Ranks()
    add_reports(ranks, 0, report(0), host="a")
    add_reports(ranks, 0, report(1), host="b")
    held = HostState("b", tenancy=pb.Tenancy(members=[pb.Member(pid=1, run="r", rank=1)]))
    ranks.advance((START + 301) * SECOND, {"b": held})
    assert [key.host for key in ranks.keys] == ["b"]
    assert ranks.totals((START + 301) * SECOND, "b") == {"b": ()}
    ranks.advance((START + 90_000) * SECOND, {"b": held})
    assert len(ranks) == 0


def test_the_ranks_of_a_host_and_of_the_table_are_limited() -> None:
    """The host's rank with the oldest report makes room; a rank beyond the table's limit is refused and counted."""
    ranks = Ranks(max_ranks=300)
    for rank in range(MAX_RANKS_OF_A_HOST + 4):
        add_reports(ranks, rank, report(rank))
    assert len(ranks) == MAX_RANKS_OF_A_HOST
    assert min(key.rank for key in ranks.keys) == 4
    for rank in range(50):
        add_reports(ranks, 270, report(rank), host="b")
    assert (len(ranks), ranks.refused) == (300, 6)
    ranks.forget("a")
    assert {key.host for key in ranks.keys} == {"b"}


def test_a_reused_row_starts_empty() -> None:
    """A new rank has its own sums and rings."""
    ranks = Ranks()
    for second in range(20):
        add_reports(ranks, second, report(0, tokens=5, loss=math.nan))
    ranks.forget("a")
    add_reports(ranks, 21, report(7), host="c")
    assert ranks.counts.tolist() == [1]
    assert ranks.column("bad_losses").tolist() == [0]
    assert np.isnan(ranks.column("tokens")).all()
    assert np.isnan(ranks.ring("step_seconds", 4)[:3]).all()
