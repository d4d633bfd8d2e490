"""Reports a training of Hugging Face's Trainer. Imported only for a script that has a Trainer."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from transformers.trainer_callback import TrainerCallback

from flyball.frameworks.attachment import Attachment, attempt
from flyball.frameworks.batches import added, batch_samples, batch_tokens
from flyball.frameworks.trainer_batches import TrainerBatches
from flyball.frameworks.trainer_values import TrainerValues, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flyball.training.run import Run


def attach(trainer: Any, attachment: Attachment) -> None:
    """Let each `train()` of this trainer report. Nothing else of it changes until then."""
    earlier = trainer.__dict__.get("train")
    original = earlier.original if isinstance(earlier, MeasuredTrain) else trainer.train
    trainer.train = MeasuredTrain(trainer, original, TrainerWatch(attachment))


_MEASURED = ("get_batch_samples", "compute_loss", "training_step", "_save_checkpoint")


class MeasuredTrain:
    """Takes the place of a trainer's `train`. The measuring parts exist only while it runs, also if it fails."""

    def __init__(self, trainer: Any, original: Callable[..., Any], watch: TrainerWatch) -> None:
        self.trainer = trainer
        self.original = original
        self.watch = watch
        functools.update_wrapper(self, original)

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Train as ever."""
        trainer, watch = self.trainer, self.watch
        attempt(trainer.add_callback, watch)
        attempt(_measure, trainer, "get_batch_samples", watch.fetching)
        attempt(_measure, trainer, "compute_loss", watch.computing)
        attempt(_measure, trainer, "training_step", watch.stepping)
        attempt(_measure, trainer, "_save_checkpoint", watch.saving)
        attempt(watch.watch, trainer)
        try:
            return self.original(*values, **named)
        finally:
            for name in _MEASURED:
                attempt(_restore, trainer, name)
            attempt(trainer.remove_callback, watch)
            attempt(watch.end)


class TrainerWatch(TrainerCallback):
    """Receives the events of a trainer and reports its steps."""

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        self._training = False
        self._batch_came = False
        self._only_logged = True  # the loss is known from the log alone
        self._more_batches = False  # of the same step: a loss is added to the one before
        self._tokens: int | None = None
        self._samples: int | None = None
        self._loss: Any = None  # the newest; the run reads it when the training ends
        self._measured: tuple[Any, Any] = (None, None)  # the iterator of the epoch, and the one that measures it
        self._trainer: Any = None  # while it trains
        self._compute_loss: Any = None  # the trainer's own function
        self._batches: TrainerBatches | None = None
        self._values: TrainerValues | None = None

    @property
    def run(self) -> Run:
        """Return the run that is reported."""
        return self.attachment.run

    def watch(self, trainer: Any) -> None:
        """Remember the trainer that is about to train."""
        self._trainer = trainer

    def fetching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the trainer's function that fetches the batches of a step, with its waiting measured."""

        def get_batch_samples(epoch_iterator: Any, *values: Any, **named: Any) -> Any:
            fetched = original(self._measure(epoch_iterator), *values, **named)
            attempt(self._count, fetched)
            return fetched

        return get_batch_samples

    def computing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the trainer's forward pass, with its time and loss measured."""
        self._compute_loss = original

        def compute_loss(model: Any, *values: Any, **named: Any) -> Any:
            loss = original(model, *values, **named)
            if self._training and getattr(model, "training", True):  # not within an evaluation
                attempt(self._computed, loss, named.get("num_items_in_batch"))
            return loss

        return compute_loss

    def stepping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the trainer's function for forward and backward pass, which may get its batch in slices."""

        def training_step(model: Any, inputs: Any, *values: Any, **named: Any) -> Any:
            batches = self._batches
            if batches is None:
                return original(model, inputs, *values, **named)
            before = self._loss if self._more_batches else None
            items = values[0] if values else named.get("num_items_in_batch")
            loss = batches.compute(model, inputs, items, lambda piece: original(model, piece, *values, **named))
            if batches.was_sliced:
                attempt(self._sliced, loss, before)
            return loss

        return training_step

    def saving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the trainer's function that writes a checkpoint, with its time measured."""
        return timed(original, self._saved)

    def on_train_begin(self, args: Any, state: Any, *_: Any, **named: Any) -> None:
        """Begin with the number of steps, which the trainer knows by now."""
        self._training, self._batch_came = True, False
        self._tokens = self._samples = self._loss = None
        attempt(self._begin, args, state)
        attempt(self._declare, named.get("train_dataloader"))

    def on_epoch_begin(self, *_: Any, train_dataloader: Any = None, **__: Any) -> None:
        """Make changes of the loader before it is iterated."""
        attempt(self.run.begin_epoch, train_dataloader)

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        """End the backward pass of a batch that is not the last one of its step."""
        attempt(self.run.mark, "backward")

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """End the backward pass of the last batch of a step, gradient clipping included."""
        attempt(self.run.mark, "backward")

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """End the optimizer's step."""
        attempt(self.run.mark, "optimizer")

    def on_step_end(self, _: Any, state: Any, control: Any, **__: Any) -> None:
        """End a step. Between this one and the next, changes are made."""
        tokens, samples, loss = self._tokens, self._samples, self._loss
        self._tokens = self._samples = None
        if self._batches is not None:
            self._batches.end_step()
        attempt(lambda: self.run.step(state.global_step, tokens=tokens, samples=samples, loss=loss))
        attempt(self._save_if_wanted, control)

    def on_log(self, *_: Any, logs: Any = None, **__: Any) -> None:
        """Use the loss that the trainer has computed. The trainer waits for the device to do so."""
        if self._training and logs and "loss" in logs:
            if self._only_logged:
                attempt(self.run.note_loss, logs["loss"])
            self._mark("logging")

    def on_evaluate(self, *_: Any, **__: Any) -> None:
        """End an evaluation within the training."""
        self._mark("evaluation")

    def on_save(self, *_: Any, **__: Any) -> None:
        """End the writing of a checkpoint."""
        self._mark("checkpoint")

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """End the training."""
        attempt(self.end)

    def end(self) -> None:
        """Finish the run and let go of the trainer's data, also after an exception."""
        self._training = False
        self._measured = (None, None)
        if self._values is not None:
            attempt(self._values.close)
        self._trainer = self._compute_loss = self._batches = self._values = None
        self.attachment.end()

    def __getstate__(self) -> dict[str, Any]:
        """Leave iterators, tensors and the trainer behind."""
        left = dict.fromkeys(("_loss", "_trainer", "_compute_loss", "_batches", "_values"))
        return self.__dict__ | left | {"_measured": (None, None)}

    def _begin(self, args: Any, state: Any) -> None:
        self.attachment.begin(
            rank=args.process_index,
            world_size=args.world_size,
            done_steps=state.global_step,
            total_steps=state.max_steps,
        )

    def _declare(self, train_loader: Any) -> None:
        """Offer what can be changed of this trainer."""
        if self._trainer is not None and self.run.policy != "off":
            self._batches = TrainerBatches(self._trainer, self.run, self._compute_loss)
            self._values = TrainerValues(self._trainer, self.run, self._batches, train_loader)

    def _save_if_wanted(self, control: Any) -> None:
        if self.run.checkpoint_wanted():
            control.should_save = True

    def _saved(self, seconds: float) -> None:
        if self._values is not None:
            self._values.note_checkpoint(seconds)

    def _sliced(self, loss: Any, before: Any) -> None:
        """Use the loss of a batch whose slices were computed one by one, some of them perhaps twice."""
        self._loss = loss if before is None else before + loss
        self._more_batches = True

    def _mark(self, section: str) -> None:
        if self._training and self._batch_came:  # before the first batch no step has begun
            attempt(self.run.mark, section)

    def _measure(self, epoch_iterator: Iterator[Any]) -> Iterator[Any]:
        if self._measured[0] is not epoch_iterator:
            self._measured = (epoch_iterator, self.run.data(epoch_iterator))
        return self._measured[1]  # type: ignore[no-any-return]  # it behaves like the iterator

    def _count(self, fetched: Any) -> None:
        self._batch_came = True
        self._more_batches = False
        for batch in fetched[0]:
            self._tokens = added(self._tokens, batch_tokens(batch))
            self._samples = added(self._samples, batch_samples(batch))

    def _computed(self, loss: Any, items: Any) -> None:
        """Use the loss of the forward pass. Where the trainer counts the step's tokens, it is only a part of it."""
        self.run.mark("forward")
        loss = loss[0] if isinstance(loss, tuple) else loss
        self._only_logged = loss.numel() != 1  # several devices in one process
        if not self._only_logged:
            loss = loss.detach()
            self._loss = self._loss + loss if self._more_batches and items is not None else loss
            self._more_batches = True


def _measure(trainer: Any, name: str, measured: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a measured function before the one of this trainer. Versions that lack it stay as they are."""
    original = getattr(trainer, name, None)
    if original is not None:
        function = functools.wraps(original)(measured(original))
        function.flyball_had = name in trainer.__dict__  # type: ignore[attr-defined]  # functions accept attributes
        setattr(trainer, name, function)


def _restore(trainer: Any, name: str) -> None:
    """Remove a measured function, unless somebody has replaced it since."""
    function = trainer.__dict__.get(name)
    had = getattr(function, "flyball_had", None)
    if had:
        setattr(trainer, name, function.__wrapped__)
    elif had is False:
        delattr(trainer, name)
