"""Counts adjustments for Prometheus: how they ended, what was measured last, and how many are in progress."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from flyball_collector.adjustments.adjustment import IN_PROGRESS, Adjustment, AdjustmentState

MOST_RUNS = 1024
"""Runs with figures. Beyond it, the run whose adjustments changed the longest ago is dropped."""

_DAY_NS = 86400 * 10**9


class EndedAdjustments(NamedTuple):
    """The number of adjustments of one lever of a run with one outcome."""

    run: str
    lever: str
    outcome: str
    number: int


class MeasuredGain(NamedTuple):
    """The gain of the last measured adjustment of a lever of a run, as a ratio: 0.03 is 3 % faster."""

    run: str
    lever: str
    gain: float


class AdjustmentFigures(NamedTuple):
    """All figures at one instant."""

    ended: tuple[EndedAdjustments, ...] = ()
    gains: tuple[MeasuredGain, ...] = ()
    in_progress: tuple[tuple[str, int], ...] = ()  # by state; empty: adjustments are off


class AdjustmentTally:
    """Listens to the governor. Adjustments that take another one back are a part of that one's outcome.

    Each adjustment is counted once, by its first outcome: one that was kept and is undone a day later counts as kept.
    """

    def __init__(self) -> None:
        self._states: dict[str, AdjustmentState] = {}  # of those in progress, and of ended ones while their run is kept
        self._runs: dict[str, int] = {}  # the time of the last change; the oldest first
        self._of_run: dict[str, set[str]] = {}  # ids by run
        self._ended: Counter[tuple[str, str, str]] = Counter()
        self._gains: dict[tuple[str, str], float] = {}

    def load(self, adjustments: Iterable[Adjustment]) -> None:
        """Take adjustments from before a restart. Their outcomes were counted before it, so their counters begin at 0.

        Without the 0, the next outcome of a counter would look like the last value before the restart: no increase.
        """
        for adjustment in sorted(adjustments, key=lambda each: each.changed_ns):
            self._note(adjustment)
            if adjustment.is_over and not adjustment.inverse_of:
                self._ended[_ended_key(adjustment)] += 0

    def take(self, adjustment: Adjustment) -> None:
        """Take a change of an adjustment."""
        before = self._states.get(adjustment.id)
        self._note(adjustment)
        is_counted = before is not None and before not in IN_PROGRESS  # a counter cannot take its first outcome back
        if adjustment.is_over and not adjustment.inverse_of and not is_counted:
            self._ended[_ended_key(adjustment)] += 1

    def figures(self, now_ns: int) -> AdjustmentFigures:
        """Return the figures. Gains are those of runs whose adjustments changed within a day."""
        states = Counter(self._states.values())
        recent = {run for run, changed_ns in self._runs.items() if now_ns - changed_ns < _DAY_NS}
        return AdjustmentFigures(
            ended=tuple(EndedAdjustments(*key, count) for key, count in sorted(self._ended.items())),
            gains=tuple(MeasuredGain(*key, gain) for key, gain in sorted(self._gains.items()) if key[0] in recent),
            in_progress=tuple((state.value, states[state]) for state in AdjustmentState if state in IN_PROGRESS),
        )

    def _note(self, adjustment: Adjustment) -> None:
        run = adjustment.run
        self._runs[run] = max(adjustment.changed_ns, self._runs.pop(run, 0))
        self._of_run.setdefault(run, set()).add(adjustment.id)
        self._states[adjustment.id] = adjustment.state
        if adjustment.effect is not None and not adjustment.inverse_of:
            self._gains[run, _lever(adjustment)] = adjustment.effect.gain - 1.0
        if len(self._runs) > MOST_RUNS:
            self._forget(next(iter(self._runs)))

    def _forget(self, run: str) -> None:
        del self._runs[run]
        for adjustment in self._of_run.pop(run):
            del self._states[adjustment]
        for key in [key for key in self._ended if key[0] == run]:
            del self._ended[key]
        for pair in [pair for pair in self._gains if pair[0] == run]:
            del self._gains[pair]


def _ended_key(adjustment: Adjustment) -> tuple[str, str, str]:
    return adjustment.run, _lever(adjustment), adjustment.state.value


def _lever(adjustment: Adjustment) -> str:
    """Return the lever. The names of values come from trainings, so that they are not labels."""
    return adjustment.lever or "other"
