"""A training of your own, with three lines for Flyball: `.venv/bin/python docs/tutorial/own.py`."""

import time

import flyball


def load_samples() -> list[float]:
    """Return the samples of the training."""
    return [number / 400 for number in range(400)]


def train_step(weight: float, sample: float) -> tuple[float, float]:
    """Return the weight after one step, and the loss."""
    time.sleep(0.05)  # as if it computed
    error = weight * sample - 3 * sample
    return weight - 0.1 * error * sample, error**2


weight = 0.0
samples = load_samples()
run = flyball.run("my-run", total_steps=len(samples))
for sample in run.data(samples):
    weight, loss = train_step(weight, sample)
    run.step(samples=1, loss=loss)
run.finish()
print(run.summary())
