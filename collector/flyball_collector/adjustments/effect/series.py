"""The steps of a run, one sample for each report: what the effect of an adjustment is measured on."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice, takewhile

import numpy as np

from flyball_collector.adjustments.effect.rank_columns import Floats, RankColumns, columns_of
from flyball_collector.fleet.run_steps import RunSteps

KEPT_SAMPLES = 900
"""A quarter of an hour of reports. The variation between earlier windows is measured on them."""

RECENT_SAMPLES = 60
ENOUGH_SAMPLES, ENOUGH_SECONDS = 3, 10.0
"""The duration of a step is the mean of the last minute. It is known after so many reports, or steps of so many
seconds: the first steps after a change may be slow."""

_MOST_CHANGES = 64


@dataclass(frozen=True, slots=True)
class StepSample:
    """The steps that all ranks have reported since the previous sample. `None` is unknown."""

    seconds: float  # when it was made, by the agent's clock
    step: int  # the last one that it includes, of the slowest rank
    steps: float  # of a rank, on average
    step_seconds: float  # per step, mean over the ranks
    tokens: float | None = None  # of all ranks, per step
    samples: float | None = None
    peak_bytes: int | None = None  # the largest of any rank
    finite: bool = True  # False: a rank has reported a loss that is not finite


class RunSeries:
    """Keeps the latest samples of a run. A new attempt begins with none."""

    def __init__(self, kept: int = KEPT_SAMPLES) -> None:
        self._samples: deque[StepSample] = deque(maxlen=kept)
        self._last: RankColumns | None = None
        self._changes: deque[int] = deque(maxlen=_MOST_CHANGES)
        self._attempt = -1

    @property
    def samples(self) -> Sequence[StepSample]:
        """Return all samples, oldest first."""
        return tuple(self._samples)

    def take(self, run: RunSteps) -> None:
        """Add a sample from the steps of a run."""
        self.add(columns_of(run))

    def add(self, now: RankColumns) -> None:
        """Add a sample if every rank has made a step since the last one. Call it once a second."""
        if now.attempt != self._attempt:
            self._samples.clear()
            self._changes.clear()
            self._last, self._attempt = None, now.attempt
        last = self._last
        if last is None or not np.array_equal(last.ranks, now.ranks) or (now.steps < last.steps).any():
            self._last = now  # other ranks than before, or their sums began again
        elif (now.steps > last.steps).all():
            self._samples.append(_sample(last, now))
            self._last = now

    def changed(self, step: int) -> None:
        """Note that a value was changed after this step, by an adjustment, its inverse or the training itself."""
        self._changes.append(step)

    def recent_step_seconds(self) -> float | None:
        """Return the shorter of the newest and the mean duration of a step since the last change; None: unknown yet."""
        since = max(self._changes, default=0)
        unmixed = takewhile(lambda each: each.step - each.steps >= since, reversed(self._samples))
        recent = list(islice(unmixed, RECENT_SAMPLES))
        steps = sum(each.steps for each in recent)
        seconds = sum(each.steps * each.step_seconds for each in recent)
        if not steps or (len(recent) < ENOUGH_SAMPLES and seconds < ENOUGH_SECONDS):
            return None
        return min(recent[0].step_seconds, seconds / steps)

    def before(self, step: int) -> tuple[StepSample, ...]:
        """Return the samples with no step after this one, since the last change before it."""
        since = max((change for change in self._changes if change < step), default=0)
        return tuple(each for each in self.after(since) if each.step <= step)

    def after(self, step: int) -> tuple[StepSample, ...]:
        """Return the samples with no step up to this one. A sample on both sides of it belongs to neither."""
        newer = dropwhile(lambda each: each.step - each.steps < step, self._samples)
        return tuple(newer)


def _sample(last: RankColumns, now: RankColumns) -> StepSample:
    steps = now.steps - last.steps
    peak = np.fmax.reduce(now.peak_bytes)
    return StepSample(
        seconds=float(now.at.max()),
        step=int(now.step.min()),
        steps=float(steps.max()),
        step_seconds=float(np.mean((now.seconds - last.seconds) / steps)),
        tokens=_per_step(now.tokens - last.tokens, steps),
        samples=_per_step(now.samples - last.samples, steps),
        peak_bytes=int(peak) if peak > 0 else None,
        finite=not now.bad_losses.any(),
    )


def _per_step(amounts: Floats, steps: Floats) -> float | None:
    """Return the amount of a step of all ranks; unknown if a rank does not report it."""
    total = float(np.sum(amounts / steps))
    return total if total > 0 else None  # NaN is not
