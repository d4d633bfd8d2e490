"""A model of Keras that reports through a callback of thirty lines. Copy the callback into your training.

KERAS_BACKEND=torch python examples/training/keras_fit.py --steps 50
"""

import argparse

import keras
import numpy as np

import flyball


class Report(keras.callbacks.Callback):
    """Reports each batch of `fit` as a step, and evaluations as a section.

    Keras fetches a batch between the end of one and the start of the next, where otherwise only callbacks run.
    """

    def __init__(self, name: str, batch_size: int) -> None:
        super().__init__()
        self.name = name
        self.batch_size = batch_size

    def on_train_begin(self, *_: object) -> None:
        batches = self.params["steps"]  # None for a generator
        self.run = flyball.run(self.name, total_steps=batches and batches * self.params["epochs"])

    def on_train_batch_begin(self, *_: object, **__: object) -> None:
        self.run.mark("data")

    def on_train_batch_end(self, _: int, logs: dict[str, float] | None = None) -> None:
        self.run.step(samples=self.batch_size, loss=(logs or {}).get("loss"))

    def on_test_end(self, *_: object) -> None:
        self.run.mark("evaluation")

    def on_train_end(self, *_: object) -> None:
        self.run.finish()


def train(steps: int) -> None:
    """Train for a number of batches."""
    keras.utils.set_random_seed(7)
    points = np.random.default_rng(7).standard_normal((16 * steps, 8)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    report = Report("keras-fit", batch_size=16)
    history = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: print(f"step {batch + 1:>3}  mean loss {float(logs['loss']):.9g}")
    )
    model.fit(points, points.sum(1), batch_size=16, epochs=1, verbose=0, callbacks=[report, history])


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    train(parser.parse_args().steps)


if __name__ == "__main__":
    main()
