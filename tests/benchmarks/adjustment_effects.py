"""Measure how well effects of adjustments are judged, on simulated reports with the noise of real trainings."""

import sys
import time

from flyball_collector.adjustments.effect.effect import EffectVerdict
from tests.benchmarks.figure import Figure, at_least, plain, report
from tests.collector.adjustments.step_noise import Watched, watched

WATCHES = 1000
FIRST_SEED = 100_000  # the method was tuned with seeds below 1,000, the tests use 10,000 and more
HARMS = (1.05, 1.06, 1.08, 1.12, 1.2, 1.3, 1.5)
GAINS = (0.98, 0.95, 0.9, 0.7, 0.3)


def _watches(factors: tuple[float, ...], first: int, count: int) -> list[tuple[float, Watched]]:
    seeds = range(first, first + count)
    return [(1 / factors[seed % len(factors)], watched(seed, factors[seed % len(factors)])) for seed in seeds]


def figures(count: int = WATCHES) -> list[Figure]:
    """Return the shares of right verdicts and of intervals with the true gain, and the cost of a measurement."""
    began = time.process_time()
    harmed = _watches(HARMS, FIRST_SEED, count)
    harmless = _watches((1.0,), FIRST_SEED + count, count)
    gained = _watches(GAINS, FIRST_SEED + 2 * count, count)
    seconds = (time.process_time() - began) / (3 * count)
    back = sum(each.verdict is EffectVerdict.ROLL_BACK for _, each in harmed) / count
    least = [each for true, each in harmed if true == 1 / HARMS[0]]
    least_back = sum(each.verdict is EffectVerdict.ROLL_BACK for each in least) / len(least)
    kept = sum(each.verdict is EffectVerdict.KEEP for _, each in harmless) / count
    gained_kept = sum(each.verdict is EffectVerdict.KEEP for _, each in gained) / count
    every = [*harmed, *harmless, *gained]
    inside = sum(each.effect.gain_low <= true <= each.effect.gain_high for true, each in every) / len(every)
    reports = sum(each.reports for _, each in every) / len(every)
    return [
        at_least("harmful changes rolled back", back, 0.99, "", "5 to 50 % longer steps"),
        plain("of which 5 % longer", least_back, ""),
        at_least("harmless changes kept", kept, 0.95, "", "no difference"),
        plain("faster ones kept", gained_kept, "", "2 to 70 % shorter steps"),
        at_least("true gain inside of the interval of 90 %", inside, 0.9, ""),
        plain("reports until the verdict", reports, "", "one a second"),
        plain("CPU of a watch", 1000 * seconds, "ms", "all its measurements, the simulation included"),
    ]


if __name__ == "__main__":
    print(f"{3 * WATCHES:,} watches", file=sys.stderr)
    report(figures())
