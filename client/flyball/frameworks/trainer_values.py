"""The values of a trainer of transformers: slices, activation checkpointing, checkpoints, its loader."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from flyball.adjustments.checkpoints import CHOICES
from flyball.adjustments.value import AdjustableValue
from flyball.frameworks.attachment import attempt
from flyball.levers import activation_checkpointing, loaders

if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.frameworks.trainer_batches import TrainerBatches
    from flyball.training.run import Run

CHECKPOINT_STEPS = "checkpoint_steps"
_KEY = "trainer"


class TrainerValues:
    """The values of one `train()`. They are declared when the agent allows adjustments."""

    def __init__(self, trainer: Any, run: Run, batches: TrainerBatches, train_loader: Any) -> None:
        self._trainer = trainer
        self._run = run
        self._batches = batches
        self._loader = train_loader
        self._values: list[AdjustableValue] = []
        run.on_adjustments(_KEY, self._declare)

    def note_checkpoint(self, seconds: float) -> None:
        """Keep what a checkpoint has cost, for the best interval between two."""
        for value in self._values:
            if value.name == CHECKPOINT_STEPS:
                value.set_fact("cost_seconds", f"{seconds:.3g}")

    def close(self) -> None:
        """Take the values back, because the training has ended. Nothing of the trainer stays with the run."""
        self._run.on_adjustments(_KEY, _nothing)
        self._batches.close()
        if self._run.is_adjustable:
            loaders.withdraw(self._run.adjustments)
        for value in self._values:
            value.blocked = "not_training"
            if self._run.adjustments.values.get(value.name) is value:
                del self._run.adjustments.values[value.name]
        self._values.clear()
        self._loader = None

    def _declare(self, adjustments: Any) -> None:
        """Declare everything. A version of transformers that lacks something has one value less."""
        attempt(self._batches.declare)
        attempt(loaders.declare, adjustments, self._loader)
        attempt(self._declare_activation_checkpointing)
        attempt(self._declare_interval, adjustments)

    def _declare_activation_checkpointing(self) -> None:
        trainer = self._trainer
        options = next(
            (
                found
                for name in ("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs")
                if (found := getattr(trainer.args, name, None))
            ),
            None,
        )
        value = activation_checkpointing.declare(
            self._run, trainer.model, wrapped=trainer.model_wrapped, options=options
        )
        if value is not None:
            self._values.append(value)

    def _declare_interval(self, adjustments: Any) -> None:
        """Declare the steps between two checkpoints, if the trainer counts them in steps."""
        arguments, state = self._trainer.args, self._trainer.state
        strategy = getattr(arguments.save_strategy, "value", arguments.save_strategy)
        if strategy != "steps" or not isinstance(state.save_steps, int) or state.save_steps < 1:
            return
        value = AdjustableValue(
            CHECKPOINT_STEPS,
            state.save_steps,
            choices=sorted({*CHOICES, state.save_steps}),
            lever=CHECKPOINT_STEPS,
            apply=self._set_interval,
            together=True,
        )
        if arguments.load_best_model_at_end:
            value.blocked = "best_model"  # only checkpoints at an evaluation can be the best one
        self._values.append(adjustments.add(value))

    def _set_interval(self, to: Any) -> int:
        self._trainer.state.save_steps = to
        return int(self._trainer.state.save_steps)


def timed(original: Callable[..., Any], note: Callable[[float], object]) -> Callable[..., Any]:
    """Return the same function. Its duration is noted if it ends without an exception."""

    def measured(*values: Any, **named: Any) -> Any:
        began = perf_counter()
        result = original(*values, **named)
        attempt(note, perf_counter() - began)
        return result

    return measured


def _nothing(_: Any) -> None:
    """Declare nothing any more."""
