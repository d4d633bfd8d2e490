"""A trial of one configuration, in the process or machine that the executor chose."""

import statistics
import time
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from flyball_planner.sweep.commands import CommandFailed
from flyball_planner.sweep.configurations import SweepConfiguration, Value

Task = Callable[..., object]
"""Called with a configuration's values by name. It returns the number of patterns done, or a mapping with `patterns`
and other figures, or nothing: then the configuration's `samples` count, or else the call itself."""

MOST_FAILURE_CHARACTERS = 1_000


class TrialOutcome(Struct, frozen=True):
    """The outcome of a configuration: a rate, or the reason of its failure."""

    configuration: SweepConfiguration
    seconds: float = 0.0
    patterns: float = 0.0
    failure: str = ""
    figures: Mapping[str, Value] = field(default_factory=dict)
    every_seconds: tuple[float, ...] = ()  # of each repeat; `seconds` is their median

    @property
    def patterns_per_second(self) -> float:
        """Return the rate by which configurations are ranked."""
        return self.patterns / self.seconds if self.seconds > 0 else 0.0


def run_trial(task: Task, configuration: SweepConfiguration, repeats: int = 1) -> TrialOutcome:
    """Run the repeats and return their median; any failure is an outcome, not an error."""
    seconds: list[float] = []
    answer: object = None
    try:
        for _ in range(repeats):
            started = time.perf_counter()
            answer = task(**configuration)
            seconds.append(time.perf_counter() - started)
        patterns, figures = _read(answer, configuration)
    except Exception as error:  # noqa: BLE001  a failing configuration must not stop the others
        kind = "" if isinstance(error, CommandFailed) else f"{type(error).__name__}: "
        return TrialOutcome(configuration, failure=f"{kind}{error}"[:MOST_FAILURE_CHARACTERS])
    middle = statistics.median(seconds)
    return TrialOutcome(configuration, middle, patterns, figures=figures, every_seconds=tuple(seconds))


def _read(answer: object, configuration: SweepConfiguration) -> tuple[float, dict[str, Value]]:
    if isinstance(answer, Mapping):
        counted = answer.get("patterns", configuration.get("samples", 1))
        figures = {
            str(name): value
            for name, value in answer.items()
            if name != "patterns" and isinstance(value, int | float | str)
        }
        return _patterns(counted), figures
    return _patterns(configuration.get("samples", 1) if answer is None else answer), {}


def _patterns(counted: object) -> float:
    if isinstance(counted, bool) or not isinstance(counted, int | float) or not counted >= 0:
        raise ValueError(f"expected a number of patterns, got {counted!r}")
    return float(counted)
