"""The events of a training with Lightning, as a run reports them."""

from __future__ import annotations

import functools
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from flyball.frameworks.attachment import Attachment, attempt
from flyball.frameworks.batches import added, batch_samples, batch_tokens
from flyball.frameworks.lightning_batches import LightningHandle
from flyball.levers import loaders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flyball.training.run import Run

CHECKPOINT = "flyball.ckpt"
"""The file of a checkpoint that somebody asked for. The next one replaces it."""

_KEY = "lightning"


class FitWatch:
    """Reports the steps of `Trainer.fit`: `flyball.lightning.Callback(run="vit-3")` in the trainer's callbacks.

    A step is a step of the optimizer. Forward pass, backward pass, optimizer, evaluation and checkpoints are sections,
    and waiting for the loader is measured where Lightning fetches the next batch.
    """

    def __init__(self, attachment: Attachment, sizes: Mapping[str, Any] | None = None) -> None:
        self.attachment = attachment
        self.sizes = dict(sizes or {})  # of `self.flyball.batch`
        self._module: Any = None  # that has `flyball` as an attribute
        self._offered = False
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

    def on_train_epoch_start(self, trainer: Any, *_: Any) -> None:
        """Make changes of the loader before it is iterated. Lightning has made the first epoch's iterator already."""
        if self._fitting:
            attempt(lambda: self.run.begin_epoch(_loader_of(trainer)))

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
        self._offer(trainer, module)
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
        self._save_if_wanted(trainer)

    def _offer(self, trainer: Any, module: Any) -> None:
        """Offer what can be changed. In automatic optimization, Lightning owns forward and backward pass."""
        if self.run.policy == "off":
            return
        self._offered = True
        loader = _loader_of(trainer)
        self.run.on_adjustments(_KEY, lambda adjustments: loaders.declare(adjustments, loader))
        if not module.automatic_optimization:
            self._module = module
            module.flyball = LightningHandle(self.run, trainer, self.sizes)

    def _save_if_wanted(self, trainer: Any) -> None:
        """Write a checkpoint if somebody asked for one, beside the others. Without others, nobody can ask."""
        folder = next((each.dirpath for each in trainer.callbacks if getattr(each, "dirpath", None)), None)
        if folder is not None and self.run.checkpoint_wanted():
            trainer.save_checkpoint(f"{folder}/{CHECKPOINT}")

    def _withdraw(self) -> None:
        """Leave nothing of the trainer with the run."""
        if self._offered:
            self._offered = False
            self.run.on_adjustments(_KEY, lambda _: None)
            if self.run.is_adjustable:
                loaders.withdraw(self.run.adjustments)

    def _mark(self, section: str) -> None:
        if self._fitting:  # not in a sanity check, or an evaluation outside of a training
            attempt(self.run.mark, section)

    def _end(self, trainer: Any) -> None:
        self._fitting = False
        if self._module is not None:
            self._module.__dict__.pop("flyball", None)
            self._module = None
        attempt(self._withdraw)
        attempt(_restore, trainer.fit_loop.epoch_loop, trainer)
        attempt(self.attachment.end)


def _loader_of(trainer: Any) -> Any:
    """Return the loader of a training that has a single one."""
    found = getattr(trainer.fit_loop, "_combined_loader", None)
    flattened = getattr(found, "flattened", [])
    return flattened[0] if len(flattened) == 1 else None


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
