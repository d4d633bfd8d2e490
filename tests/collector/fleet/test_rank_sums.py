"""What the reports of ranks add up to, and the newest that each said."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.fleet.ranks import Ranks
from tests.collector.fleet.reports import SECOND, START, hear, report

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


def test_sections_are_own_work_or_waiting() -> None:
    """The input counts once, mixed sections not at all; without own work it is what waiting leaves of the step."""
    ranks = Ranks()
    sections = {"data": 0.1, "forward": 0.2, "backward": 0.5, "all_reduce": 0.1}
    hear(ranks, 0, report(0, step_seconds=1.0, data_wait_seconds=0.1, section_seconds=sections))
    hear(ranks, 0, report(1, step_seconds=1.0, section_seconds={"barrier": 0.4}), report(2))
    np.testing.assert_allclose(ranks.ring("own_seconds", 1)[0], [0.3, 0.6, np.nan])
    np.testing.assert_allclose(ranks.ring("waiting_seconds", 1)[0], [0.1, 0.4, np.nan])


def test_losses_that_are_no_number_are_counted_in_a_row() -> None:
    """A finite one begins anew; a report without a loss changes nothing."""
    ranks = Ranks()
    for second, loss in enumerate([1.0, math.nan, None, math.inf, -math.inf]):
        hear(ranks, second, report(loss=loss))
    assert ranks.column("bad_losses").tolist() == [3]
    hear(ranks, 9, report(loss=0.0))
    assert ranks.column("bad_losses").tolist() == [0]
    assert ranks.column("loss").tolist() == [0]
