"""Measures how fast a GPU warms, from its margin at each call."""

from collections import deque

import numpy as np

WINDOW_SECONDS = 16.0
"""Sensors report whole degrees: a shorter window measures rounding, a longer one lags behind."""

LEAST_SECONDS = 9.0
LEAST_READINGS = 3


class WarmingMeter:
    """The warming of the GPU with the least margin. Another GPU begins a new measurement."""

    def __init__(self) -> None:
        self._gpu = ""
        self._margins: deque[tuple[float, float]] = deque()  # seconds, degrees left

    def take(self, gpu: str, margin: float | None, now: float, since: float = 0.0) -> float | None:
        """Take the margin of the hottest GPU, and return its warming in degrees a second; None if it is unknown.

        Margins from before `since`, when a value of the run was changed, do not count.
        """
        if gpu != self._gpu or margin is None:
            self._margins.clear()
        self._gpu = gpu
        if margin is None:
            return None
        while self._margins and self._margins[0][0] < max(now - WINDOW_SECONDS, since):
            self._margins.popleft()
        self._margins.append((now, margin))
        if len(self._margins) < LEAST_READINGS or now - self._margins[0][0] < LEAST_SECONDS:
            return None
        times, margins = np.array(self._margins).T
        return float(-np.polyfit(times - now, margins, 1)[0])
