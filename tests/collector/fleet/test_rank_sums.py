"""Sums of the reports of ranks, and their newest values."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.fleet.ranks import Ranks
from tests.collector.fleet.step_reports import SECOND, START, add_reports, report

_AMOUNT = st.floats(0, 1e6)
_REPORTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 5), _AMOUNT, st.none() | _AMOUNT), max_size=40
)


@given(_REPORTS, st.integers(1, 10))
def test_sums_equal_those_of_the_reports(
    reports: list[tuple[str, int, int, float, float | None]], together: int
) -> None:
    """However reports are grouped, each counts once, for its own rank."""
    ranks = Ranks()
    steps: dict[tuple[str, int], int] = defaultdict(int)
    tokens: dict[tuple[str, int], float] = defaultdict(float)
    for number, (host, rank, count, seconds, amount) in enumerate(reports):
        one = report(rank, steps=count, step_seconds=seconds, tokens=amount)
        ranks.add_reports(host, [one], START * SECOND, START * SECOND)
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
    """Input counts once, mixed sections not at all; without own sections, own work is the step without waiting."""
    ranks = Ranks()
    sections = {"data": 0.1, "forward": 0.2, "backward": 0.5, "all_reduce": 0.1}
    add_reports(ranks, 0, report(0, step_seconds=1.0, data_wait_seconds=0.1, section_seconds=sections))
    add_reports(ranks, 0, report(1, step_seconds=1.0, section_seconds={"barrier": 0.4}), report(2))
    np.testing.assert_allclose(ranks.ring("own_seconds", 1)[0], [0.3, 0.6, np.nan])
    np.testing.assert_allclose(ranks.ring("waiting_seconds", 1)[0], [0.1, 0.4, np.nan])


def test_non_finite_losses_are_counted() -> None:
    """A finite loss resets the count; a report without a loss changes nothing."""
    ranks = Ranks()
    for second, loss in enumerate([1.0, math.nan, None, math.inf, -math.inf]):
        add_reports(ranks, second, report(loss=loss))
    assert ranks.column("bad_losses").tolist() == [3]
    add_reports(ranks, 9, report(loss=0.0))
    assert ranks.column("bad_losses").tolist() == [0]
    assert ranks.column("loss").tolist() == [0]
