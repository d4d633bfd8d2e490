"""What a sweep found: the configurations by rate, and which value matters how much."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from flyball_planner.sweep.configurations import Value
from flyball_planner.sweep.trial import Outcome


class Effect(Struct, frozen=True):
    """The median rate at each value of one name, over all that else varied."""

    name: str
    patterns_per_second: Mapping[Value, float]

    @property
    def ratio(self) -> float:
        """The best value's rate over the worst's: 1 where the name does not matter."""
        rates = self.patterns_per_second.values()
        worst = min(rates)
        return max(rates) / worst if worst > 0 else float("inf")


def ranked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The configurations that worked, the fastest first; equals in the order in which they came."""
    worked = (outcome for outcome in outcomes if not outcome.failure)
    return sorted(worked, key=lambda outcome: -outcome.patterns_per_second)


def effects(outcomes: Sequence[Outcome]) -> list[Effect]:
    """Each name that varied, the one that matters most first."""
    worked = [outcome for outcome in outcomes if not outcome.failure]
    names = {name for outcome in worked for name in outcome.configuration}
    found = [Effect(name, _medians(worked, name)) for name in sorted(names)]
    return sorted((effect for effect in found if len(effect.patterns_per_second) > 1), key=lambda each: -each.ratio)


def _medians(outcomes: Iterable[Outcome], name: str) -> dict[Value, float]:
    rates: dict[Value, list[float]] = {}
    for outcome in outcomes:
        if name in outcome.configuration:
            rates.setdefault(outcome.configuration[name], []).append(outcome.patterns_per_second)
    return {value: statistics.median(each) for value, each in rates.items()}
