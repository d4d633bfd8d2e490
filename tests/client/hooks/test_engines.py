"""Engines and trainers that know more about their steps than an optimizer does."""

from types import SimpleNamespace

import pytest

from flyball.hooks import deepspeed, lightning, transformers
from flyball.hooks.steps import OptimizerSteps
from tests.client.hooks.reports import Reports, last_step, total
from tests.client.hooks.test_steps import Optimizer, finish, step


class Engine:
    """Behaves as DeepSpeed's: it accumulates two batches, then steps its optimizer for each of three groups."""

    def __init__(self, steps: OptimizerSteps, *, fails: bool = False) -> None:
        self.global_steps = 0
        self._steps, self._optimizer, self._batches, self._fails = steps, Optimizer(), 0, fails

    def step(self) -> None:
        """Step if the gradients are complete."""
        if self._fails:
            raise RuntimeError("out of memory")
        self._batches += 1
        if self._batches % 2 == 0:
            step(self._steps, *[self._optimizer] * 3)
            self.global_steps += 1


def hooked(steps: OptimizerSteps) -> type[Engine]:
    """Return a class of engines with the hooks."""
    found = type("Hooked", (Engine,), {"step": Engine.step})
    deepspeed.install(SimpleNamespace(DeepSpeedEngine=found), steps)
    return found


def test_a_step_of_deepspeed_is_one_step(reports: Reports) -> None:
    """Neither a group of parameters nor an accumulated batch is one."""
    steps = OptimizerSteps()
    engine = hooked(steps)(steps)
    for _ in range(10):
        engine.step()
    finish(steps)
    (lines,) = reports.runs()
    assert last_step(lines) == 5
    assert total(lines, "forward_backward") > 0
    assert total(lines, "optimizer") > 0


def test_an_engine_that_fails_leaves_the_optimizers_to_others(reports: Reports) -> None:
    """Its error passes, and steps of an optimizer count again."""
    steps = OptimizerSteps()
    with pytest.raises(RuntimeError, match="out of memory"):
        hooked(steps)(steps, fails=True).step()
    step(steps, *[Optimizer()] * 3)
    finish(steps)
    assert last_step(reports.runs()[0]) == 3


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ({"max_steps": 70, "max_epochs": None}, (70, 4)),
        ({"max_steps": -1, "max_epochs": 3}, (12, 4)),
        ({"max_steps": -1, "max_epochs": -1}, (None, 4)),
        ({"max_steps": -1, "max_epochs": 3, "num_training_batches": float("inf")}, (None, 4)),
    ],
)
def test_the_steps_of_lightning_follow_from_its_settings(
    trainer: dict[str, object], expected: tuple[int | None, int]
) -> None:
    """Batches that are left over at the end of an epoch are a step too; without an end, the total is unknown."""
    facts = {"num_training_batches": 10, "accumulate_grad_batches": 3, "global_step": 4} | trainer
    assert lightning.progress(SimpleNamespace(**facts)) == expected


def test_a_resumed_trainer_goes_on_at_its_step(reports: Reports) -> None:
    """Its state is read when the first step ends."""

    class CallbackHandler:
        def on_train_begin(self, _args: object, _state: object, control: object) -> object:
            return control

    steps, optimizer, state = OptimizerSteps(), Optimizer(), SimpleNamespace(max_steps=100, global_step=40)
    transformers.install(SimpleNamespace(CallbackHandler=CallbackHandler), steps)
    assert CallbackHandler().on_train_begin(None, state, "control") == "control"
    for _ in range(3):
        step(steps, optimizer)
        state.global_step += 1
    finish(steps)
    (lines,) = reports.runs()
    assert (lines[0]["total_steps"], last_step(lines)) == (100, 43)
