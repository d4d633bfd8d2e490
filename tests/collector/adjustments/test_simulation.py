"""Offers to ranks over a network with faults. `make bench` makes 10,000 of them."""

import pytest

from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.core.flights import RECOVER_SECONDS
from tests.collector.adjustments.simulation import Faults, Network, Simulation

LOSSY = Network(lost=0.07, doubled=0.1, late_share=0.05)


def test_without_faults_nearly_all_offers_are_applied() -> None:
    """At least 99 % of the offers are applied by all ranks, and no two ranks ever differ in a step."""
    result = Simulation(1).run(300)
    assert result.committed_share >= 0.99
    assert (result.splits, result.failures) == (0, [])
    assert result.longest_offer_seconds <= 30


@pytest.mark.parametrize(
    ("faults", "least"),
    [
        (Faults(LOSSY), 0.1),
        (Faults(LOSSY, ranks_killed=0.2), 0.05),
        (Faults(LOSSY, collectors_killed=0.3), 0.05),
    ],
    ids=["lossy", "ranks killed", "collectors killed"],
)
def test_ranks_never_differ_whatever_is_lost(faults: Faults, least: float) -> None:
    """With lost, late, doubled and reordered messages and kills, all ranks change or none, and each offer ends."""
    result = Simulation(2, faults=faults).run(300)
    assert (result.splits, result.failures) == (0, [])
    assert result.committed_share >= least
    assert result.states[AdjustmentState.FAILED] == 0
    assert result.longest_offer_seconds <= 31 + (RECOVER_SECONDS if faults.collectors_killed else 0)


def test_messages_alone_would_split_the_ranks() -> None:
    """Without the common register, the same network splits ranks: the simulation notices it, and so does the core."""
    result = Simulation(2, faults=Faults(LOSSY), common_register=False).run(100)
    assert result.splits > 0
    assert result.states[AdjustmentState.FAILED] > 0


@pytest.mark.parametrize("step_seconds", [0.01, 5.0])
def test_fast_and_slow_steps(step_seconds: float) -> None:
    """Steps of 10 ms and of 5 s are changed as well."""
    result = Simulation(3, world=2, step_seconds=step_seconds).run(10)
    assert result.committed_share == 1
    assert result.splits == 0
