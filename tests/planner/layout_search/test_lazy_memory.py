"""Tests of estimating memory only for the layouts that need it."""

import numpy as np
import pytest

from flyball_planner.catalogue.machines import machine
from flyball_planner.layout_search.candidates import candidates
from flyball_planner.layout_search.lazy_memory import FEW, SAMPLED, LazyMemory
from flyball_planner.layouts.layout import Layouts
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.memory.verdict import FITS, Fit, fits
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.training import Training

TRAINING = Training(1024, 512, find_optimizer("adamw"))
NODE = machine("A100 SXM 80GB", 8)


@pytest.mark.parametrize(
    ("model", "times", "complete"), [("gpt2", 1, True), ("gpt2", 20, False), ("llama-2-70b", 20, True)]
)
def test_lazy_memory_equals_estimating_all_layouts(model: str, times: int, complete: bool) -> None:
    """A few layouts are all estimated at once, of many only the requested rows, unless most do not fit."""
    shape = named_shape(model)
    every = candidates(shape, TRAINING, 8, 8)
    every = Layouts.joined([every.where(allowed(shape, TRAINING, every))] * times)
    estimated: list[int] = []

    def estimate(layouts: Layouts) -> MemoryEstimate:
        estimated.append(len(layouts))
        return estimate_memory(shape, TRAINING, layouts, NODE.device)

    memories = LazyMemory(every, estimate)
    assert memories.complete is complete
    rows = np.array([3, 1, 4])
    complete_estimate = estimate_memory(shape, TRAINING, every, NODE.device)
    assert memories.of(rows).driver.high.tolist() == complete_estimate.driver.high[rows].tolist()
    assert (
        memories.surely_fit(rows).tolist() == (fits(complete_estimate).positions[rows] == FITS.index(Fit.YES)).tolist()
    )
    middle = complete_estimate.driver.middle[rows] <= complete_estimate.usable_bytes
    assert memories.probably_fit(rows).tolist() == middle.tolist()
    one, two = memories.of_each([rows[:1], rows[1:]])
    assert [*one.driver.middle, *two.driver.middle] == complete_estimate.driver.middle[rows].tolist()
    assert (len(every) <= FEW) is (times == 1)
    sampled = estimated[: times > 1]
    assert all(each <= SAMPLED for each in sampled)
    assert estimated[len(sampled) :] == ([len(every)] if complete else [3, 3, 3, 3])
