"""The table of ranks: who has a row, and who leaves."""

import math

import numpy as np

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import MAX_RANKS_OF_A_HOST, Ranks
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.fleet.reports import SECOND, START, hear, report


def test_silent_ranks_leave_unless_their_process_is_there() -> None:
    """After five minutes; a process that still speaks for the run may hang, and stays for a day."""
    ranks = Ranks()
    hear(ranks, 0, report(0), host="a")
    hear(ranks, 0, report(1), host="b")
    held = HostState("b", tenancy=pb.Tenancy(members=[pb.Member(pid=1, run="r", rank=1)]))
    ranks.advance((START + 301) * SECOND, {"b": held})
    assert [key.host for key in ranks.keys] == ["b"]
    assert ranks.totals((START + 301) * SECOND, "b") == {"b": ()}
    ranks.advance((START + 90_000) * SECOND, {"b": held})
    assert len(ranks) == 0


def test_a_host_and_the_table_hold_only_so_many() -> None:
    """The longest silent of a host makes room; what does not fit the table is refused and counted."""
    ranks = Ranks(max_ranks=300)
    for rank in range(MAX_RANKS_OF_A_HOST + 4):
        hear(ranks, rank, report(rank))
    assert len(ranks) == MAX_RANKS_OF_A_HOST
    assert min(key.rank for key in ranks.keys) == 4
    for rank in range(50):
        hear(ranks, 270, report(rank), host="b")
    assert (len(ranks), ranks.refused) == (300, 6)
    ranks.forget("a")
    assert {key.host for key in ranks.keys} == {"b"}


def test_a_row_that_is_given_again_knows_nothing_of_before() -> None:
    """A newcomer's sums and rings are its own."""
    ranks = Ranks()
    for second in range(20):
        hear(ranks, second, report(0, tokens=5, loss=math.nan))
    ranks.forget("a")
    hear(ranks, 21, report(7), host="c")
    assert ranks.counts.tolist() == [1]
    assert ranks.column("bad_losses").tolist() == [0]
    assert np.isnan(ranks.column("tokens")).all()
    assert np.isnan(ranks.ring("step_seconds", 4)[:3]).all()
