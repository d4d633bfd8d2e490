"""One configuration tried for real, in whatever process or machine the executor chose."""

import statistics
import time
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from flyball_planner.sweep.configurations import Configuration, Value

Task = Callable[..., object]
"""Called with a configuration's values by name. It returns how many patterns it got done, or a mapping with `patterns`
and figures of its own, or nothing: then the configuration's `samples` count, else the call itself."""

MOST_FAILURE_CHARACTERS = 1_000


class Outcome(Struct, frozen=True):
    """What came of a configuration: a rate, or the reason why there is none."""

    configuration: Configuration
    seconds: float = 0.0
    patterns: float = 0.0
    failure: str = ""
    figures: Mapping[str, Value] = field(default_factory=dict)
    every_seconds: tuple[float, ...] = ()  # of each repeat; `seconds` is their median

    @property
    def patterns_per_second(self) -> float:
        """What it is ranked by."""
        return self.patterns / self.seconds if self.seconds > 0 else 0.0


def run_trial(task: Task, configuration: Configuration, repeats: int = 1) -> Outcome:
    """The median of some repeats; whatever goes wrong is an outcome and not an error."""
    seconds: list[float] = []
    answer: object = None
    try:
        for _ in range(repeats):
            started = time.perf_counter()
            answer = task(**configuration)
            seconds.append(time.perf_counter() - started)
        patterns, figures = _read(answer, configuration)
    except Exception as error:  # noqa: BLE001  a configuration that fails must not end the others; its reason is kept
        return Outcome(configuration, failure=f"{type(error).__name__}: {error}"[:MOST_FAILURE_CHARACTERS])
    middle = statistics.median(seconds)
    return Outcome(configuration, middle, patterns, figures=figures, every_seconds=tuple(seconds))


def _read(answer: object, configuration: Configuration) -> tuple[float, dict[str, Value]]:
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
