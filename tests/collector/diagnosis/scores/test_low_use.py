"""GPUs that work steadily, but only part of the time."""

import numpy as np
import pytest

from tests.collector.diagnosis.scores.test_conformance import Machine, Second, diagnosed, steps, varying

EVERY = 5.0


def at_use(second: int, use: float, gpu_watts: float = 330.0) -> dict[str, float]:
    return {"gpu_utilization_ratio": use, "gpu_sm_active_ratio": 0.7 * use, "gpu_tensor_active_ratio": 0.3 * use,
            **varying(second, gpu_watts)}  # fmt: skip


@pytest.mark.parametrize("with_steps", [False, True])
def test_low_steady_use_is_named_within_a_quarter_of_an_hour(with_steps: bool) -> None:
    """A GPU is busy for 45 % of the time, with the noise of a real driver's readings, of a run or not."""
    machine, rng = Machine(), np.random.default_rng(1)

    def data(second: int) -> Second:
        use = float(np.clip(rng.normal(0.45, 0.03), 0, 1))
        return machine.second(card=at_use(second, use)), steps() if with_steps else []

    active, _, player = diagnosed(data, 180, EVERY)
    assert active == {"low_use"}
    (condition,) = [each for each in player.diagnosis.conditions.active() if each.kind.name == "bottleneck_low_use"]
    assert "busy only 4" in condition.event.because


def test_input_that_is_missing_explains_low_use() -> None:
    """Steps report that they wait for input: that is the cause, and reported alone."""
    machine = Machine()
    found = diagnosed(lambda n: (machine.second(card=at_use(n, 0.45)), steps(0.5)), 180, EVERY)
    assert found[0] == {"data_wait"}


@pytest.mark.parametrize("name", ["busy", "unsteady", "idle", "young"])
def test_other_use_is_not_low_use(name: str) -> None:
    """Neither full use, nor a service whose load changes, nor rest, nor a few minutes of low use."""
    machine, rng = Machine(), np.random.default_rng(2)
    load = np.clip(rng.normal(0.45, 0.15, 200), 0, 1)  # of requests, which come at random

    def data(second: int) -> Second:
        use = {"busy": 0.93, "unsteady": float(load[second]), "idle": 0.02, "young": 0.45}[name]
        return machine.second(card=at_use(second, use)), []

    active, _, _ = diagnosed(data, 70 if name == "young" else 180, EVERY)
    assert "low_use" not in active
