"""Measures the calls of a run to services over the last seconds, from the sums since its first report."""

from collections import deque
from dataclasses import dataclass

from flyball_collector.fleet.run_steps import RunSteps, StepFigures

WINDOW_SECONDS = 30.0
LEAST_SECONDS = 5.0
SECOND = 10**9


@dataclass(frozen=True, slots=True)
class CallShares:
    """The calls of all ranks together; `None` is unknown."""

    calls_per_sample: float | None = None
    call_seconds: float | None = None
    service_share: float | None = None  # of the steps' time


@dataclass(frozen=True, slots=True)
class _Sums:
    time_ns: int
    calls: float
    call_seconds: float
    step_seconds: float
    samples: float  # steps, if the run reports no samples


class CallMeter:
    """The calls of one run. A change of one of its values begins a new measurement."""

    def __init__(self) -> None:
        self._sums: deque[_Sums] = deque()
        self._attempt = -1

    def take(self, steps: RunSteps, now_ns: int, since_ns: int = 0) -> CallShares:
        """Take the newest sums, and return the figures since then, at most of the last half minute."""
        sums = _sums(steps, now_ns)
        restarted = bool(self._sums) and sums.step_seconds < self._sums[-1].step_seconds
        if steps.attempt != self._attempt or restarted:
            self._sums.clear()
        self._attempt = steps.attempt
        oldest = max(since_ns, now_ns - int(WINDOW_SECONDS * SECOND))
        while self._sums and self._sums[0].time_ns < oldest:
            self._sums.popleft()
        self._sums.append(sums)
        return _shares(self._sums[0], sums)


def _shares(before: _Sums, after: _Sums) -> CallShares:
    calls, seconds = after.calls - before.calls, after.call_seconds - before.call_seconds
    stepped, samples = after.step_seconds - before.step_seconds, after.samples - before.samples
    if after.time_ns - before.time_ns < LEAST_SECONDS * SECOND or stepped <= 0 or calls <= 0:
        return CallShares()
    return CallShares(
        calls / samples if samples > 0 else None,
        seconds / calls if seconds > 0 else None,
        min(1.0, seconds / stepped) if seconds > 0 else None,
    )


def _sums(steps: RunSteps, now_ns: int) -> _Sums:
    figures: list[StepFigures] = [rank.overall for rank in steps.ranks]
    calls = [call for each in figures for call in each.calls.values()]
    return _Sums(
        now_ns,
        float(sum(call.count for call in calls)),
        sum(call.seconds for call in calls),
        sum((each.step_seconds or 0.0) * each.steps for each in figures),
        float(sum(each.steps if each.samples is None else each.samples for each in figures)),
    )
