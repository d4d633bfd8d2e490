"""Measures how much the client slows a training on a GPU: steps with and without it alternate."""

import random
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from tests.benchmarks.client.pairs import STEP_SECONDS, trimmed_mean
from tests.benchmarks.client_on_gpu.training import StandinAgent, Training

PAIR_SECONDS = 14.0


def slowdown_busy(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """Check a training that keeps the GPU busy: steps of 10 ms."""
    del agent
    training = Training(torch)
    step = training.fit_to(STEP_SECONDS)
    yield _slowdown(training, "busy", step, 10, "GPU always busy")


def slowdown_launching(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """Check a training whose step lasts as long as the host starts its kernels: what the host loses, the step loses."""
    del agent
    training = Training(torch, width=64, batch=64, depth=8)
    step = training.fit_to(STEP_SECONDS)
    yield _slowdown(training, "launching", step, 5, "host always busy")


def _slowdown(training: Training, name: str, step: float, steps: int, what: str) -> tuple[bool, str]:
    """Compare blocks of steps with and without the client, in random order. Each has twice its share of reports."""
    import flyball  # noqa: PLC0415

    order, ratios, costs = random.Random(1), [], []
    with flyball.run(name) as run:
        training.seconds_of(run, 20)
        end = time.perf_counter() + PAIR_SECONDS
        while time.perf_counter() < end:
            pair = {}
            for each in order.sample([None, run], 2):
                pair[each is None] = training.seconds_of(each, steps)
            ratios.append(pair[False] / pair[True] - 1)
        costs = _client_seconds(run)
    slowed = trimmed_mean(ratios)
    mean, margin = slowed.seconds, slowed.margin
    text = (
        f"{what}: steps of {step * 1e3:.2f} ms slowed by {mean:.4%} (95 %: {mean - margin:.4%} to {mean + margin:.4%}; "
        f"{len(ratios)} pairs of {steps} steps); the calls of a step take {median(costs) * 1e6:.2f} µs"
    )
    return mean - margin < 0.001, text


def _client_seconds(run: Any) -> list[float]:
    """Return the time of the calls of one step."""
    found = []
    for _ in range(2000):
        began = time.perf_counter()
        run.mark("forward")
        run.mark("backward")
        run.mark("optimizer")
        run.step(tokens=2048, loss=1.0)
        found.append(time.perf_counter() - began)
    return found
