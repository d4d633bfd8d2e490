"""A loop with JAX.

    python examples/training/jax_loop.py --steps 50

A call of a jitted function returns before the device has finished. What `run.step()` measures is the time between two
calls of it. It is the device's time nevertheless, as long as the loop waits for the device somewhere: here it does,
because each step prints the loss of the step before. Do not call `block_until_ready` only for Flyball: the device would
then wait for Python after each step.
"""

import argparse
from typing import Any

import jax
import jax.numpy as jnp

import flyball

Weights = dict[str, Any]


def predict(weights: Weights, points: jax.Array) -> jax.Array:
    """Return the prediction of a network with one hidden layer."""
    return jnp.tanh(points @ weights["hidden"]) @ weights["out"]


@jax.jit
def train_step(weights: Weights, points: jax.Array) -> tuple[Weights, jax.Array]:
    """Return the weights after one step, and the loss before it."""

    def loss_of(candidate: Weights) -> jax.Array:
        return jnp.mean((predict(candidate, points) - points.sum(1)) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(weights)
    return jax.tree.map(lambda value, gradient: value - 0.05 * gradient, weights, gradients), loss


def train(steps: int) -> None:
    """Train on random points."""
    key = jax.random.key(7)
    weights = {"hidden": jax.random.normal(key, (8, 32)) * 0.3, "out": jax.random.normal(key, (32,)) * 0.1}
    last = None
    with flyball.run("jax-loop", total_steps=steps) as run:
        for step in range(steps):
            points = jax.random.normal(jax.random.fold_in(key, step), (64, 8))
            run.mark("data")
            weights, loss = train_step(weights, points)
            if last is not None:
                print(f"step {step:>3}  loss {float(last)!r}")  # waits for the step before
            last = loss
            run.step(samples=len(points), loss=loss)
    print(f"step {steps:>3}  loss {float(loss)!r}")


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    train(parser.parse_args().steps)


if __name__ == "__main__":
    main()
