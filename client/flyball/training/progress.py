"""The progress of a run in this process: sums since its start, and the last minutes in seconds."""

from __future__ import annotations

from _collections import deque  # type: ignore[import-not-found]  # the C module: `collections` would be imported for nothing

from flyball.training.figures import Figures

RECENT_SECONDS = 60
_ENOUGH_STEPS = 10  # for their average
_SECOND = 1_000_000_000


class Second:
    """Figures between two reports, usually of a second."""

    __slots__ = ("at", "began", "nanoseconds", "samples", "steps", "tokens", "wait")

    def __init__(self, began: int, at: int, figures: Figures) -> None:
        self.began = began
        self.at = at
        self.steps = figures.steps
        self.nanoseconds = figures.nanoseconds
        self.wait = figures.wait
        self.tokens = figures.tokens
        self.samples = figures.samples

    def add(self, at: int, figures: Figures) -> None:
        """Add what was measured later in the same second."""
        self.at = at
        self.steps += figures.steps
        self.nanoseconds += figures.nanoseconds
        self.wait += figures.wait
        if figures.tokens is not None:
            self.tokens = (self.tokens or 0.0) + figures.tokens
        if figures.samples is not None:
            self.samples = (self.samples or 0.0) + figures.samples


class Progress:
    """Sums, the seconds of the last minute, and the largest values."""

    __slots__ = ("_last", "allocated_peak_bytes", "loss", "overall", "recent", "reserved_peak_bytes", "started")

    def __init__(self, started: int) -> None:
        self.started = self._last = started
        self.overall = Figures()
        self.recent: deque[Second] = deque(maxlen=2 * RECENT_SECONDS)  # some cover less than a second
        self.loss: float | None = None
        self.allocated_peak_bytes: int | None = None
        self.reserved_peak_bytes: int | None = None

    def add(self, at: int, figures: Figures) -> None:
        """Add what was measured since the last call. Levels without a time took as long as that was."""
        began, self._last = self._last, at
        seconds = (at - began) / _SECOND
        for level, (items, taken) in figures.levels.items():
            if not taken:
                figures.levels[level] = (items, seconds)
        self.overall.add(figures)
        if self.recent and at - self.recent[-1].began < _SECOND:  # a script may ask for summaries at each step
            self.recent[-1].add(at, figures)
        else:
            self.recent.append(Second(began, at, figures))

    def step_seconds(self) -> float | None:
        """Return the recent duration of a step, if there was one."""
        steps = nanoseconds = 0
        for second in reversed(self.recent):
            steps += second.steps
            nanoseconds += second.nanoseconds
            if steps >= _ENOUGH_STEPS:
                break
        return nanoseconds / steps / _SECOND if steps else None

    def recent_seconds(self, now: int) -> list[Second]:
        """Return the seconds of the last minute."""
        return [second for second in self.recent if now - second.at <= RECENT_SECONDS * _SECOND]
