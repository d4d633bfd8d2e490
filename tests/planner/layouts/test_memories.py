"""Of which layouts memory is estimated."""

import numpy as np
import pytest

from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.candidates import candidates
from flyball_planner.layouts.columns import Layouts
from flyball_planner.layouts.memories import FEW, SAMPLED, Memories
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.memory.verdict import FITS, Fit, fits
from flyball_planner.models.transformer.named import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.training import Training

TRAINING = Training(1024, 512, find_optimizer("adamw"))
NODE = machine("A100 SXM 80GB", 8)


@pytest.mark.parametrize(
    ("model", "times", "complete"), [("gpt2", 1, True), ("gpt2", 20, False), ("llama-2-70b", 20, True)]
)
def test_memory_is_the_same_however_many_layouts_are_asked(model: str, times: int, complete: bool) -> None:
    """Of few all at once, of many what is asked for, unless most do not fit; the bytes are those of all at once."""
    shape = named_shape(model)
    every = candidates(shape, TRAINING, 8, 8)
    every = Layouts.joined([every.where(allowed(shape, TRAINING, every))] * times)
    asked: list[int] = []

    def estimate(layouts: Layouts) -> MemoryEstimate:
        asked.append(len(layouts))
        return estimate_memory(shape, TRAINING, layouts, NODE.device)

    memories = Memories(every, estimate)
    assert memories.complete is complete
    rows = np.array([3, 1, 4])
    whole = estimate_memory(shape, TRAINING, every, NODE.device)
    assert memories.of(rows).driver.high.tolist() == whole.driver.high[rows].tolist()
    assert memories.surely_fit(rows).tolist() == (fits(whole).positions[rows] == FITS.index(Fit.YES)).tolist()
    one, two = memories.of_each([rows[:1], rows[1:]])
    assert [*one.driver.middle, *two.driver.middle] == whole.driver.middle[rows].tolist()
    assert (len(every) <= FEW) is (times == 1)
    sampled = asked[: times > 1]
    assert all(each <= SAMPLED for each in sampled)
    assert asked[len(sampled) :] == ([len(every)] if complete else [3, 3, 3])
