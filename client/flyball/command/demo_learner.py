"""The training of `flyball demo --scenario govern`: it waits for a service, and Flyball may change three of its values.

`python -m flyball.command.demo_learner SOCKET RUN` reports to the agent until it is killed.
"""

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore

import flyball

PATTERNS = 100  # in a sample
EPOCH = 16  # samples
CALL_SECONDS = 0.006  # network and handling of a call of any size
PATTERN_SECONDS = 0.0002


class SimulatedService:
    """A service with delays instead of work. Calls beyond its number of connections wait."""

    def __init__(self, connections: int) -> None:
        self._connections = BoundedSemaphore(connections)

    def learn(self, patterns: int) -> None:
        """Wait as long as a call with so many patterns takes."""
        with self._connections:
            time.sleep(CALL_SECONDS + PATTERN_SECONDS * patterns)


class DemoLearner:
    """Learns samples, as many at once as its value `workers`."""

    def __init__(self, run: flyball.Run) -> None:
        self._run = run
        self._service = SimulatedService(1)
        self._calls = run.value("calls_per_batch", 1, choices=(1, 10, 50, 100))
        self._pool = run.value("pool", 1, choices=(1, 2, 4, 8))
        self._workers = run.value("workers", 1, choices=(1, 2, 4, 8), when="epoch")

    def learn_epoch(self) -> None:
        """Learn some samples; each is a step."""
        self._service = SimulatedService(self._pool.now)
        with ThreadPoolExecutor(self._workers.now) as pool:
            for _ in pool.map(self._learn, range(EPOCH)):
                self._run.level("node0").add(PATTERNS)
                self._run.step(samples=1)

    def _learn(self, _sample: int) -> None:
        size = self._calls.now
        for first in range(0, PATTERNS, size):
            with self._run.call("patterns"):
                self._service.learn(min(size, PATTERNS - first))


def main(arguments: Sequence[str]) -> None:
    """Learn for ever."""
    os.environ["FLYBALL_SOCKET"], name = arguments
    with flyball.run(name, policy="auto") as run:
        learner = DemoLearner(run)
        while True:
            learner.learn_epoch()


if __name__ == "__main__":
    main(sys.argv[1:])
