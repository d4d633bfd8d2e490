"""The learner of the service-bound demonstration: two levels, 110 calls for each sample, three adjustable values.

python -m examples.govern.learner PORT
"""

import http.client
import json
import queue
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import flyball
from examples.govern.trainings import Ending, emit

RUN = "service-bound"
PATTERNS = 100  # of the lowest level, in a sample
GROUP = 10  # patterns of a level that make one of the next
DISTINCT = 400
EPOCH = 24  # samples


def sample(number: int) -> list[str]:
    """Return the patterns of a sample."""
    return [f"p{(number * 7 + place * place) % DISTINCT}" for place in range(PATTERNS)]


def next_level(patterns: list[str]) -> list[str]:
    """Return the patterns of the next level."""
    return [" ".join(patterns[first : first + GROUP]) for first in range(0, len(patterns), GROUP)]


def expected(samples: int) -> Counter[str]:
    """Return how often each pattern must have been learnt, whatever was adjusted."""
    found: Counter[str] = Counter()
    for number in range(samples):
        lower = sample(number)
        found.update(f"node0/{pattern}" for pattern in lower)
        found.update(f"node1/{pattern}" for pattern in next_level(lower))
    return found


class Connections:
    """Connections to the service that stay open. More than `size` calls at once wait for one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._size = 0
        self._free: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()

    def resize(self, size: int) -> None:
        """Open or close connections. Call it while none is in use."""
        while self._size < size:
            self._free.put(http.client.HTTPConnection("127.0.0.1", self._port, timeout=30))
            self._size += 1
        while self._size > size:
            self._free.get().close()
            self._size -= 1

    def learn(self, level: str, patterns: list[str]) -> int:
        """Let the service learn some patterns in one call. Return how many were new."""
        connection = self._free.get()
        try:
            connection.request("POST", f"/learn/{level}", json.dumps(patterns))
            return int(json.loads(connection.getresponse().read()))
        finally:
            self._free.put(connection)


class Learner:
    """Learns samples, as many at once as its value `workers`."""

    def __init__(self, run: flyball.Run, port: int) -> None:
        self._run = run
        self._connections = Connections(port)
        self.calls = run.value("node0_batch_size", 1, choices=(1, 10, 50, 100))
        self.pool = run.value("pool", 1, choices=(1, 2, 4, 8))
        self.workers = run.value("workers", 1, choices=(1, 2, 4, 8), when="epoch")

    def epoch(self, numbers: range) -> None:
        """Learn some samples. A step is a sample."""
        self._connections.resize(self.pool.now)
        with ThreadPoolExecutor(self.workers.now) as pool:
            for new in pool.map(self._learn, numbers):
                self._run.level("node0").add(PATTERNS)
                self._run.step(samples=1, loss=new / (PATTERNS + PATTERNS // GROUP))

    def _learn(self, number: int) -> int:
        patterns, new, size = sample(number), 0, self.calls.now
        for level in ("node0", "node1"):
            for first in range(0, len(patterns), size):
                with self._run.call("patterns"):
                    new += self._connections.learn(level, patterns[first : first + size])
            patterns = next_level(patterns)
        return new


def train(port: int) -> None:
    """Learn epoch by epoch until asked to end, then compare what was learnt."""
    ending, done = Ending(), 0
    with flyball.run(RUN, policy="auto") as run:
        learner = Learner(run, port)
        while not ending:
            values = learner.calls.now, learner.pool.now, learner.workers.now
            started = time.perf_counter()
            learner.epoch(range(done, done + EPOCH))
            done += EPOCH
            emit(seconds=(time.perf_counter() - started) / EPOCH, values=values)
    emit(samples=done, equal=learnt(port) == expected(done))


def learnt(port: int) -> Counter[str]:
    """Return the counts of the service."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/patterns")
    found: dict[str, int] = json.loads(connection.getresponse().read())
    connection.close()
    return Counter(found)


def changes(lines: list[dict[str, object]]) -> Iterator[tuple[tuple[int, ...], list[float]]]:
    """Yield the values that were in force, one after the other, with the seconds per sample of their epochs."""
    current: list[object] | None = None
    seconds: list[float] = []
    for line in lines:
        values = line.get("values")
        if values is None:
            continue
        if current is not None and values != current:
            yield tuple(current), seconds  # type: ignore[arg-type]  # three numbers
            seconds = []
        current = values  # type: ignore[assignment]  # a list from JSON
        seconds.append(float(line["seconds"]))  # type: ignore[arg-type]  # a number
    if current is not None:
        yield tuple(current), seconds  # type: ignore[arg-type]  # three numbers


if __name__ == "__main__":
    train(int(sys.argv[1]))
