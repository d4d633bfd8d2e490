"""The events of a training with Lightning, as a run reports them."""

from __future__ import annotations

import functools
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from flyball.frameworks.attachment import Attachment, attempt
from flyball.frameworks.batches import added, batch_samples, batch_tokens

if TYPE_CHECKING:
    from flyball.training.run import Run


class FitWatch:
    """Reports the steps of `Trainer.fit`: `flyball.lightning.Callback(run="vit-3")` in the trainer's callbacks.

    A step is a step of the optimizer. Forward pass, backward pass, optimizer, evaluation and checkpoints are sections,
    and waiting for the loader is measured where Lightning fetches the next batch.
    """

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        self._fitting = False
        self._known = 0  # the trainer's count of optimizer steps, which several optimizers share
        self._step = 0
        self._tokens: int | None = None
        self._samples: int | None = None
        self._loss: Any = None  # the newest; the run reads it when the training ends

    @property
    def run(self) -> Run:
        """Return the run that is reported."""
        return self.attachment.run

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Open the run, in the process of its rank."""
        attempt(self._begin, trainer, pl_module)

    def on_before_backward(self, *_: Any) -> None:
        """End the forward pass."""
        self._mark("forward")

    def on_after_backward(self, *_: Any) -> None:
        """End the backward pass."""
        self._mark("backward")

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, *_: Any) -> None:
        """End a step if the optimizer has stepped; otherwise gradients were only accumulated."""
        attempt(self._batch_ended, trainer, pl_module, outputs, batch)

    def on_validation_start(self, *_: Any) -> None:
        """End what came between the step and its evaluation."""
        self._mark("logging")

    def on_validation_end(self, *_: Any) -> None:
        """End an evaluation within the training."""
        self._mark("evaluation")

    def on_fit_end(self, trainer: Any, *_: Any) -> None:
        """Finish the run."""
        self._end(trainer)

    def on_exception(self, trainer: Any, *_: Any) -> None:
        """Finish the run, also after Ctrl-C."""
        self._end(trainer)

    def _begin(self, trainer: Any, module: Any) -> None:
        total = trainer.estimated_stepping_batches
        optimizers = 1 if module.automatic_optimization else max(1, len(trainer.optimizers))
        self._known = trainer.global_step
        self._step = self._known // optimizers  # a training that is resumed does not begin at 0
        self._tokens = self._samples = None
        self.attachment.begin(
            rank=trainer.global_rank, world_size=trainer.world_size, done_steps=self._step, total_steps=total
        )
        self._fitting = True
        _measure_fetching(trainer.fit_loop.epoch_loop, self.run)
        _measure_checkpoints(trainer, self.run)

    def _batch_ended(self, trainer: Any, module: Any, outputs: Any, batch: Any) -> None:
        if not self._fitting:
            return
        self._tokens = added(self._tokens, batch_tokens(batch))
        self._samples = added(self._samples, batch_samples(batch))
        if trainer.global_step == self._known:
            return
        self._known = trainer.global_step
        self._step += 1
        self.run.mark("optimizer")
        self._loss = _loss_of(outputs, trainer.accumulate_grad_batches if module.automatic_optimization else 1)
        self.run.step(self._step, tokens=self._tokens, samples=self._samples, loss=self._loss)
        self._tokens = self._samples = None

    def _mark(self, section: str) -> None:
        if self._fitting:  # not in a sanity check, or an evaluation outside of a training
            attempt(self.run.mark, section)

    def _end(self, trainer: Any) -> None:
        self._fitting = False
        attempt(_restore, trainer.fit_loop.epoch_loop, trainer)
        attempt(self.attachment.end)


def _loss_of(outputs: Any, batches: int) -> Any:
    """Return the loss of the last batch. Lightning divides it by the number of batches that it accumulates."""
    loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
    return loss if loss is None or batches == 1 else loss * batches


def _measure_fetching(loop: Any, run: Run) -> None:
    """Measure the wait for a batch where the loop fetches it. Lightning's profilers measure at the same place."""
    run.measures_data = True
    before, after = loop._on_before_fetch, loop._on_after_fetch
    began = 0

    def before_fetch() -> None:
        nonlocal began
        before()
        began = perf_counter_ns()

    def after_fetch() -> None:
        attempt(run.add_wait, began, perf_counter_ns())
        after()

    loop._on_before_fetch, loop._on_after_fetch = before_fetch, after_fetch


def _measure_checkpoints(trainer: Any, run: Run) -> None:
    """Measure the writing of checkpoints, which no callback sees end."""
    original = trainer.save_checkpoint

    @functools.wraps(original)
    def save_checkpoint(*values: Any, **named: Any) -> Any:
        with run.section("checkpoint"):
            return original(*values, **named)

    trainer.save_checkpoint = save_checkpoint


def _restore(loop: Any, trainer: Any) -> None:
    """Remove what measures the loop and the trainer."""
    for owner, names in ((loop, ("_on_before_fetch", "_on_after_fetch")), (trainer, ("save_checkpoint",))):
        for name in names:
            owner.__dict__.pop(name, None)
