"""Tests of the comparison with other tools."""

import pytest

from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import FILE, PUBLISHED
from tests.benchmarks.planner_peers import (
    CALCULON,
    ELSEWHERE,
    KORTHIKANTI,
    LLM_ANALYSIS,
    chosen_by_others,
    peer_seconds,
)


def test_a_share_is_never_chosen_by_the_run_that_it_is_judged_by() -> None:
    """A run that one share fits exactly is judged by the share that the other runs choose."""
    ratios = {0.5: [1.0, 1.2, 1.2], 0.6: [0.95, 1.0, 1.01]}
    assert chosen_by_others(ratios) == [0.95, 1.0, 1.01]
    assert chosen_by_others({0.5: [1.0, 1.0], 0.6: [0.9, 0.9]}) == [1.0, 1.0]


@pytest.mark.parametrize("tool", [CALCULON, LLM_ANALYSIS])
def test_every_stored_figure_belongs_to_a_published_row(tool: str) -> None:
    """Each stored figure names a row of the suites that are compared, and is a positive number of seconds."""
    figures = peer_seconds(tool)
    assert len(figures) > 100
    suites = read_tables(PUBLISHED).suites(FILE)
    assert set(figures) <= {row.id for suite in (KORTHIKANTI, *ELSEWHERE) for row in suites[suite]}
    assert min(figures.values()) > 0
