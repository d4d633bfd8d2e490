"""All that a rule of adjustments may look at: the run's facts, its values and what was tried before."""

from collections.abc import Sequence
from dataclasses import dataclass

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.declared.declared_values import DeclaringRun, SharedValue, shared_values
from flyball_collector.adjustments.rules import trials
from flyball_collector.adjustments.rules.memory_scaling import PeakFacts, peak_facts
from flyball_collector.adjustments.situation.run_situation import SECOND, RunSituation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity

SETTLE_SECONDS = 120.0
"""After a change, a condition that was active before it may stay active for this long: forecasts end slowly."""


@dataclass(frozen=True, slots=True)
class RunCase:
    """One run at one moment."""

    situation: RunSituation
    run: DeclaringRun
    history: tuple[Adjustment, ...]  # of the run
    values: tuple[SharedValue, ...]

    def of(self, lever: str) -> SharedValue | None:
        """Return the first value that is this lever."""
        return next((value for value in self.values if value.lever == lever), None)

    @property
    def world_size(self) -> int:
        """The number of ranks."""
        return self.run.world_size

    @property
    def step_seconds(self) -> float | None:
        """The duration of a step."""
        measured = self.situation.step_seconds
        return measured if measured is not None else self.run.step_seconds

    def last(self, name: str) -> Adjustment | None:
        """Return the newest change of a value that took effect and was not taken back."""
        return trials.last_change(self.history, name)

    def seconds_since(self, name: str) -> float:
        """Return the seconds since a value was changed; infinite if it never was."""
        last = self.last(name)
        return float("inf") if last is None else trials.age_seconds(last, self.situation.now_ns)

    def peak(self, value: SharedValue) -> PeakFacts | None:
        """Return what is known about the memory as a function of a micro-batch."""
        of_attempt = [one for one in self.history if one.attempt == self.run.attempt]
        return peak_facts(value, self.situation.peak_bytes, of_attempt)

    def unanswered(self, events: Sequence[Event], name: str) -> tuple[Event, ...]:
        """Return the conditions to which a change of this value has not reacted yet.

        One that was raised before the last change counts again if it became or stayed critical long after it.
        """
        last = self.last(name)
        if last is None:
            return tuple(events)
        settled = last.changed_ns + int(SETTLE_SECONDS * SECOND)
        return tuple(
            event
            for event in events
            if (event.raised_ns or event.time_ns) > last.changed_ns
            or (event.severity >= Severity.CRITICAL and event.time_ns > settled)
        )


def run_case(situation: RunSituation, run: DeclaringRun, history: Sequence[Adjustment]) -> RunCase:
    """Return the case of a run."""
    return RunCase(situation, run, tuple(history), tuple(shared_values(run)))
