"""Train a small model on slow storage and report its steps to Flyball: `python3 docs/tutorial/train.py`."""

import json
import socket
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

RUN = "first-run"
READERS = 1  # threads that read batches ahead
SECONDS_PER_BATCH = 0.25  # what a slow network volume takes
SOCKET = ".flyball/agent/agent.sock"


def read_batch() -> list[float]:
    """Read one batch from the slow volume."""
    time.sleep(SECONDS_PER_BATCH)
    return [0.5] * 10_000


def batches() -> Iterator[list[float]]:
    """Yield batches for ever; each reader works on one batch at a time."""
    pool = ThreadPoolExecutor(READERS)
    reads = deque(pool.submit(read_batch) for _ in range(READERS))
    while True:
        batch = reads.popleft().result()
        reads.append(pool.submit(read_batch))
        yield batch


def train(weight: float, batch: list[float]) -> float:
    """Run one step of gradient descent on (weight · x - 1)²."""
    for _ in range(50):
        gradient = sum(2 * x * (weight * x - 1) for x in batch) / len(batch)
        weight -= 0.01 * gradient
    return weight


class Reporter:
    """Sends step reports to the agent, one JSON object a line."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(SOCKET)
        self._answers = self._socket.makefile("r")
        self.send({"kind": "hello", "run": RUN, "rank": 0, "world_size": 1})

    def send(self, report: dict[str, object]) -> None:
        """Send one report and stop if the agent refuses it."""
        self._socket.sendall(json.dumps(report).encode() + b"\n")
        answer = json.loads(self._answers.readline())
        if answer["kind"] != "ok":
            raise SystemExit(f"the agent answers: {answer}")


def main() -> None:
    """Train until Ctrl-C and report once a second."""
    reporter = Reporter()
    weight, steps, waited = 0.0, 0, 0.0
    reported = asked = time.monotonic()
    for step, batch in enumerate(batches(), 1):
        waited += time.monotonic() - asked  # the time in which this step had no input
        weight = train(weight, batch)
        steps += 1
        asked = time.monotonic()
        if asked - reported >= 1:
            report = {"kind": "steps", "step": step, "steps": steps, "loss": (weight * 0.5 - 1) ** 2}
            reporter.send(report | {"step_seconds": asked - reported, "data_wait_seconds": waited})
            print(f"step {step}: {steps / (asked - reported):.1f} steps/s")
            reported, steps, waited = asked, 0, 0.0


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("stopped")
