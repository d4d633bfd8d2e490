"""Ranking of a sweep: the configurations by rate, and the effect of each value."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from flyball_planner.sweep.configurations import Value
from flyball_planner.sweep.trial import TrialOutcome


class Effect(Struct, frozen=True):
    """The median rate for each value of one name, over all other variations."""

    name: str
    patterns_per_second: Mapping[Value, float]

    @property
    def ratio(self) -> float:
        """Return the best value's rate divided by the worst's; 1 means that the name has no effect."""
        rates = self.patterns_per_second.values()
        worst = min(rates)
        return max(rates) / worst if worst > 0 else float("inf")


def ranked(outcomes: Iterable[TrialOutcome]) -> list[TrialOutcome]:
    """Return the configurations that succeeded, fastest first."""
    succeeded = (outcome for outcome in outcomes if not outcome.failure)
    return sorted(succeeded, key=lambda outcome: -outcome.patterns_per_second)


def effects(outcomes: Sequence[TrialOutcome]) -> list[Effect]:
    """Return the effects of all names that varied, largest first."""
    succeeded = [outcome for outcome in outcomes if not outcome.failure]
    names = {name for outcome in succeeded for name in outcome.configuration}
    found = [Effect(name, _medians(succeeded, name)) for name in sorted(names)]
    return sorted((effect for effect in found if len(effect.patterns_per_second) > 1), key=lambda each: -each.ratio)


def _medians(outcomes: Iterable[TrialOutcome], name: str) -> dict[Value, float]:
    rates: dict[Value, list[float]] = {}
    for outcome in outcomes:
        if name in outcome.configuration:
            rates.setdefault(outcome.configuration[name], []).append(outcome.patterns_per_second)
    return {value: statistics.median(each) for value, each in rates.items()}
