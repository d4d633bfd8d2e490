"""Train a small model on slow storage and report its steps to Flyball: `.venv/bin/python docs/tutorial/train.py`."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import flyball

RUN = "first-run"
READERS = 1  # threads that read batches ahead
SECONDS_PER_BATCH = 0.25  # what a slow network volume takes


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


def main() -> None:
    """Train until Ctrl-C."""
    weight = 0.0
    with flyball.run(RUN) as run:
        try:
            for step, batch in enumerate(run.data(batches()), 1):
                weight = train(weight, batch)
                loss = (weight * 0.5 - 1) ** 2
                run.step(loss=loss)
                if step % 10 == 0:
                    print(f"step {step}: loss {loss:.3g}", flush=True)
        except KeyboardInterrupt:
            print(run.summary())


if __name__ == "__main__":
    main()
