"""The table of ranks: sums, the latest reports one by one, and who leaves."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import BLOCK, MAX_RANKS_OF_A_HOST, RankKey, Ranks
from flyball_collector.fleet.sections import is_own, is_waiting
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9
START = 1_900_000_000


def report(rank: int = 0, **fields: object) -> pb.StepReport:
    return pb.StepReport(**{"run": "r", "rank": rank, "step": 1, "steps": 1, "step_seconds": 0.5, **fields})  # type: ignore[arg-type]  # free fields


def hear(ranks: Ranks, second: int, *reports: pb.StepReport, host: str = "a") -> None:
    now = (START + second) * SECOND
    ranks.hear(host, reports, now, now)
    ranks.advance(now, {})


_AMOUNT = st.floats(0, 1e6)
_REPORTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 5), _AMOUNT, st.none() | _AMOUNT), max_size=40
)


@given(_REPORTS, st.integers(1, 10))
def test_sums_are_those_of_the_reports(told: list[tuple[str, int, int, float, float | None]], together: int) -> None:
    """However reports come together, each counts once, for its own rank."""
    ranks = Ranks()
    steps: dict[tuple[str, int], int] = defaultdict(int)
    tokens: dict[tuple[str, int], float] = defaultdict(float)
    for number, (host, rank, count, seconds, amount) in enumerate(told):
        one = report(rank, steps=count, step_seconds=seconds, tokens=amount)
        ranks.hear(host, [one], START * SECOND, START * SECOND)
        if number % together == 0:
            ranks.settle()
        steps[host, rank] += count
        tokens[host, rank] += amount or 0.0
    found = ranks.totals(START * SECOND, "ab")
    assert {(host, t.rank): t.steps for host in "ab" for t in found[host]} == steps
    for host in "ab":
        for total in found[host]:
            assert total.tokens is None or total.tokens == pytest.approx(tokens[host, total.rank])
            assert total.tokens is not None or tokens[host, total.rank] == 0


def test_the_latest_reports_stand_in_order() -> None:
    """A ring holds the mean step of each report, oldest first, and what is not there is unknown."""
    ranks = Ranks()
    for second in range(70):
        hear(ranks, second, report(0, steps=2, step_seconds=2.0 * second), report(1, steps=0, step_seconds=0))
    assert ranks.keys == (RankKey("r", 0, "a"), RankKey("r", 1, "a"))
    assert ranks.counts.tolist() == [70, 0]
    np.testing.assert_equal(ranks.ring("step_seconds", 3), [[67, np.nan], [68, np.nan], [69, np.nan]])
    assert ranks.times(2)[:, 0].tolist() == [START + 68, START + 69]
    np.testing.assert_allclose(ranks.blocks(2)[:, 0], [np.median(range(48, 56)), np.median(range(56, 64))])
    assert np.isnan(ranks.ring("tokens", 3)).all()
    assert BLOCK == 8


def test_a_tenth_of_long_reports_does_not_move_the_steady_mean() -> None:
    """Of twenty reports two may be long; a third counts, and who never said so is unknown."""
    ranks = Ranks()
    for second in range(20):
        hear(ranks, second, report(0, step_seconds=9.0 if second in {3, 11} else 0.5))
    assert ranks.steady_mean("step_seconds").tolist() == [0.5]
    assert ranks.mean("step_seconds").tolist() == pytest.approx([1.35])
    assert np.isnan(ranks.steady_mean("waiting_seconds")).all()
    hear(ranks, 20, report(0, step_seconds=10.0))
    assert ranks.steady_mean("step_seconds").tolist() == pytest.approx([(18 * 0.5 + 9.0) / 19])


def test_reports_of_one_second_are_one() -> None:
    """Their mean is over all their steps."""
    ranks = Ranks()
    hear(ranks, 0, report(steps=1, step_seconds=1.0, tokens=10), report(steps=3, step_seconds=1.0, tokens=30))
    assert ranks.ring("step_seconds", 1).tolist() == [[0.5]]
    assert ranks.ring("tokens", 1).tolist() == [[10]]


def test_sections_are_own_work_or_waiting() -> None:
    """The input counts once, mixed sections not at all; without own work it is what waiting leaves of the step."""
    ranks = Ranks()
    sections = {"data": 0.1, "forward": 0.2, "backward": 0.5, "all_reduce": 0.1}
    hear(ranks, 0, report(0, step_seconds=1.0, data_wait_seconds=0.1, section_seconds=sections))
    hear(ranks, 0, report(1, step_seconds=1.0, section_seconds={"barrier": 0.4}), report(2))
    np.testing.assert_allclose(ranks.ring("own_seconds", 1)[0], [0.3, 0.6, np.nan])
    np.testing.assert_allclose(ranks.ring("waiting_seconds", 1)[0], [0.1, 0.4, np.nan])


@pytest.mark.parametrize(
    ("name", "own", "waiting"),
    [
        ("forward", True, False),
        ("data_loading", True, False),
        ("grad-sync", False, True),
        ("AllReduce", False, True),
        ("backward", False, False),
        ("optimizer_step", False, False),
    ],
)
def test_names_of_sections(name: str, own: bool, waiting: bool) -> None:
    """A name says whether others can hold the rank up in it."""
    assert (is_own(name), is_waiting(name)) == (own, waiting)


def test_losses_that_are_no_number_are_counted_in_a_row() -> None:
    """A finite one begins anew; a report without a loss changes nothing."""
    ranks = Ranks()
    for second, loss in enumerate([1.0, math.nan, None, math.inf, -math.inf]):
        hear(ranks, second, report(loss=loss))
    assert ranks.column("bad_losses").tolist() == [3]
    hear(ranks, 9, report(loss=0.0))
    assert ranks.column("bad_losses").tolist() == [0]
    assert ranks.column("loss").tolist() == [0]


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
    assert np.isnan(ranks.blocks(4)).all()
