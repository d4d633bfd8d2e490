"""Measure what people and honest hosts notice of each attack in `tests.outside.attacks`: the worst of all."""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.outside.attacks import ATTACKS
from tests.outside.siege import Measured, Siege


def main() -> None:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as processes:
        siege = Siege(Path(name) / "collector", processes)
        calm = siege.measure(3.0)
        attacks = {}
        for attack in ATTACKS:
            print(f"  {attack.name}", file=sys.stderr, flush=True)
            attacks[attack.name] = siege.attack(attack)
            time.sleep(1.0)
    report([*_calm(calm), *_worst_of_all(attacks)])


def _calm(calm: Measured) -> list[Figure]:
    return [
        plain("without an attack: median answer", calm.median_seconds * 1e3, "ms", "/healthz and /readyz"),
        plain("without an attack: CPU", calm.cpu_share, "cores"),
    ]


def _worst_of_all(attacks: Mapping[str, Measured]) -> list[Figure]:
    def worst(what: str, of: Callable[[Measured], float], bound: float, unit: str) -> Figure:
        name = max(attacks, key=lambda name: of(attacks[name]))
        return at_most(f"worst of {len(attacks)} attacks: {what}", of(attacks[name]), bound, unit, name)

    slowest = max(attacks, key=lambda name: max(attacks[name].answers))
    return [
        worst("median answer", lambda measured: measured.median_seconds * 1e3, 200, "ms"),
        plain("slowest answer of all attacks", max(attacks[slowest].answers) * 1e3, "ms", slowest),
        worst("health checks without an answer", lambda measured: float(measured.unanswered), 0, "checks"),
        worst("time between two records of an honest host", lambda measured: measured.gap_seconds, 4, "s"),
        worst("a new host is welcomed", lambda measured: measured.newcomer_seconds, 5, "s"),
        worst("memory", lambda measured: measured.memory_bytes / 1e6, 300, "MB"),
    ]


if __name__ == "__main__":
    main()
