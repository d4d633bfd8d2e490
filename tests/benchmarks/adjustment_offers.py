"""Make 10,000 simulated offers of adjustments to ranks whose messages are lost, late, doubled and reordered."""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from flyball_collector.adjustments.adjustment import AdjustmentState
from tests.benchmarks.figure import Figure, at_least, at_most, plain, report
from tests.collector.adjustments.simulation import Faults, Network, Simulation, SimulationResult

OFFERS = 10_000
WITHOUT_FAULTS = 2000
PARTS = 20
LOSSY = Network(lost=0.07, doubled=0.1, late_share=0.05)
FAULTS = (
    Faults(LOSSY),
    Faults(LOSSY, ranks_killed=0.1),
    Faults(LOSSY, collectors_killed=0.1),
    Faults(Network(lost=0.02, doubled=0.3, late_share=0.2), ranks_killed=0.05, collectors_killed=0.05),
)


def _faulty(seed: int) -> SimulationResult:
    world = 2 + seed % 3
    return Simulation(seed, world=world, faults=FAULTS[seed % len(FAULTS)]).run(OFFERS // PARTS)


def _undisturbed(seed: int) -> SimulationResult:
    return Simulation(seed, world=2 + seed % 3).run(WITHOUT_FAULTS // PARTS)


def figures() -> list[Figure]:
    """Return the splits, the shares that were committed, the longest offer, and offers a second."""
    began = time.perf_counter()
    with ProcessPoolExecutor(min(PARTS, os.cpu_count() or 1)) as pool:
        faulty = list(pool.map(_faulty, range(1000, 1000 + PARTS)))
        undisturbed = list(pool.map(_undisturbed, range(2000, 2000 + PARTS)))
    seconds = time.perf_counter() - began
    every = [*faulty, *undisturbed]
    offers = sum(each.offers for each in every)
    failures = [text for each in every for text in each.failures]
    print("\n".join(failures[:20]), file=sys.stderr)
    kept = sum(each.states[AdjustmentState.KEPT] for each in undisturbed) / sum(each.offers for each in undisturbed)
    disturbed = sum(each.states[AdjustmentState.KEPT] for each in faulty) / sum(each.offers for each in faulty)
    note = "lost, late, doubled, reordered messages; ranks and collectors killed"
    return [
        at_most("offers split between ranks", sum(each.splits for each in every) + len(failures), 0, "", note),
        at_least("offers", sum(each.offers for each in faulty), OFFERS, "", "with faults"),
        at_least("committed without faults", kept, 0.99, ""),
        plain("committed with faults", disturbed, ""),
        at_most(
            "longest offer", max(each.longest_offer_seconds for each in undisturbed), 30, "s", "to its commit or end"
        ),
        plain(
            "longest offer with faults",
            max(each.longest_offer_seconds for each in faulty),
            "s",
            "30 s for the answers, and a second; a restarted collector asks the ranks again",
        ),
        plain("simulated offers a second", offers / seconds, "", f"{os.cpu_count()} cores"),
    ]


if __name__ == "__main__":
    report(figures())
