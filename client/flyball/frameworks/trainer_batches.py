"""The batches of a trainer of transformers in slices: its `training_step` is called once for each slice.

Until somebody asks for smaller slices, or memory runs out, the trainer's own function gets its batches whole. On one
rank, a step that runs out of memory is repeated here with all its batches, which Trainer keeps until the step ends. On
several ranks `MicroBatches` knows what may be repeated. It is used only after all ranks have agreed at the same step.
"""

from __future__ import annotations

import itertools
import traceback
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from flyball.adjustments.register import find_register
from flyball.frameworks.all_ranks import all_agree
from flyball.frameworks.attachment import attempt
from flyball.frameworks.loss_scaling import is_divided
from flyball.frameworks.trainer_reasons import MEAN_OF_MEANS, reason_against
from flyball.micro_batches.gradients import missing_bytes
from flyball.micro_batches.micro_batches import MICRO_BATCH
from flyball.micro_batches.out_of_memory import OPTIMIZER, free_memory, is_out_of_memory, part_of_step
from flyball.micro_batches.sizes import divisors, halved
from flyball.micro_batches.slices import NotSliceable, samples_of, slices
from flyball.micro_batches.trial import EXPLICIT_REDUCTION
from flyball.training.loaded_modules import initialised_cuda

if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.training.run import Run

    Step = Callable[[Any], Any]

UNVERIFIED = "unverified"
_TRIES = 20
"""Batches after which a loss that shows nothing is given up. The first sample of a batch may have no labels."""

_trainings = itertools.count()  # of this process; each agrees for itself


class TrainerBatches:
    """Slices the batches of one `train()`."""

    def __init__(self, trainer: Any, run: Run, compute_loss: Callable[..., Any]) -> None:
        self.was_sliced = False  # the last batch
        self._trainer = trainer
        self._run = run
        self._compute_loss = compute_loss
        self._per_rank = batch_of_rank(trainer)
        self._alone = trainer.args.world_size == 1
        self._key = f"flyball/slices/{run.attempt}/{next(_trainings)}"
        self._reason = UNVERIFIED
        self._tries = 0
        self._batches: Any = None
        self._micro = self._per_rank  # when the value was declared
        self._engaged = False  # several ranks compute by MicroBatches
        self._has_fixed_memory = False  # was noted
        self._window: list[tuple[Any, Step]] = []  # the batches of this optimizer step, for one rank

    def declare(self) -> None:
        """Declare the micro-batch of the run."""
        if self._batches is None:
            self._batches = self._run.batch(per_rank=self._per_rank, micro=self._per_rank, normalised="tokens")
            if not self._alone and self._batches.micro != self._per_rank:  # an earlier start has left a smaller size
                self._run.adjustments.changed_locally(MICRO_BATCH, self._per_rank)
            self._micro = self._batches.micro
            self._note_reason()

    def close(self) -> None:
        """Take the values back, because the training has ended."""
        self._window.clear()
        if self._batches is None:
            return
        adjustments = self._run.adjustments
        for name in (MICRO_BATCH, EXPLICIT_REDUCTION):
            value = adjustments.values.pop(name, None)
            if value is not None:
                value.blocked = "not_training"
        adjustments.announce()

    def end_step(self) -> None:
        """Forget the batches of an optimizer step. Its gradients are gone, and the optimizer's state exists."""
        self._window.clear()
        if self._batches is not None and not self._has_fixed_memory:
            self._has_fixed_memory = True
            attempt(self._note_fixed_memory)

    def compute(self, model: Any, inputs: Any, items: Any, step: Step) -> Any:
        """Compute forward and backward of a batch. `step` is the trainer's own function for a batch or slice."""
        self.was_sliced = False
        if self._run.policy == "off":
            return step(inputs)
        if not self._alone:
            return self._compute_together(model, inputs, items, step)
        if self._batches is not None:
            self._verify(model, inputs, items)
        self._window.append((inputs, step))
        try:
            return self._computed(inputs, items, step)
        except Exception as error:
            if not self._may_repeat(error, items):
                raise
            failure = error
        # Not inside of `except`: there the frames of the failed pass, and so their tensors, are still alive.
        return self._repeated(model, inputs, items, failure)

    def _note_fixed_memory(self) -> None:
        """Let the governor know what does not depend on the size of slices: weights, gradients, optimizer states."""
        cuda = initialised_cuda()
        if cuda is not None:
            fixed = cuda.memory_allocated() + missing_bytes(self._trainer.model, self._trainer.model.parameters())
            self._run.adjustments.values[MICRO_BATCH].set_fact("fixed_bytes", str(fixed))

    # On one rank.

    def _computed(self, inputs: Any, items: Any, step: Step) -> Any:
        """Compute a batch in slices of the present size."""
        size = self._batches.micro if self._batches is not None and not self._reason else self._per_rank
        pieces = [inputs] if items is None or size >= self._per_rank else _pieces(inputs, size)
        if len(pieces) == 1:
            return step(inputs)
        self.was_sliced = True
        total: Any = None
        for piece in pieces:
            loss = step(piece).detach()
            total = loss if total is None else total + loss
            attempt(self._run.mark, "backward")
        return total

    def _may_repeat(self, error: BaseException, items: Any) -> bool:
        known = self._reason in {"", UNVERIFIED} and items is not None
        return known and is_out_of_memory(error) and part_of_step(error) != OPTIMIZER

    def _repeated(self, model: Any, inputs: Any, items: Any, failure: BaseException) -> Any:
        """Compute all batches of this optimizer step again in smaller slices, as small as it takes."""
        began, where, first = perf_counter_ns(), part_of_step(failure), self._size(inputs)
        while True:
            _release(failure)
            model.zero_grad()
            free_memory()
            self.declare()
            self._verify(model, inputs, items)
            smaller = halved(self._size(inputs), divisors(self._per_rank))
            if self._reason or smaller is None:
                self._report(where, first, None, began, recovered=False)
                failure.add_note(_note(where, self._size(inputs), self._reason))
                raise failure
            self._run.adjustments.changed_locally(MICRO_BATCH, smaller)
            try:
                losses = [self._computed(each, items, step) for each, step in self._window]
            except Exception as error:
                if not self._may_repeat(error, items):
                    raise
                failure = error
            else:
                self._report(where, first, smaller, began, recovered=True)
                return losses[-1]

    def _size(self, inputs: Any) -> int:
        """Return the number of samples that are computed at once."""
        micro = self._per_rank if self._batches is None else self._batches.micro
        try:
            return int(min(micro, samples_of(inputs)))
        except NotSliceable:
            return int(micro)

    def _report(self, where: str, first: int, to: int | None, began: int, *, recovered: bool) -> None:
        attempt(
            lambda: self._run.adjustments.note_oom(
                step=self._run.last_step + 1,
                where=where,
                name=MICRO_BATCH,
                from_=first,
                to=to,
                recovered=recovered,
                retry_seconds=(perf_counter_ns() - began) * 1e-9,
            )
        )

    # On several ranks.

    def _compute_together(self, model: Any, inputs: Any, items: Any, step: Step) -> Any:
        if not self._engaged:
            self._engage(model, inputs, items)
        if not self._engaged or items is None:
            return step(inputs)
        self.was_sliced = True
        is_last = bool(self._trainer.accelerator.sync_gradients)
        return self._batches.accumulate(step, inputs, model=model, clear=model.zero_grad, last=is_last)

    def _engage(self, model: Any, inputs: Any, items: Any) -> None:
        """Begin to use slices where all ranks do: after a change, or at the first batch if all of them agree."""
        is_first = self._tries == 0 and self._run.policy == "auto"
        if is_first:
            attempt(self.declare)
        if self._batches is None:
            return
        self._verify(model, inputs, items)
        if is_first:
            self._tries = max(1, self._tries)
            run = self._run
            self._engaged = all_agree(
                find_register(run.world_size),
                self._key,
                rank=run.rank,
                ranks=run.world_size,
                agrees=not self._reason,
            )
        elif self._batches.micro != self._micro:
            self._engaged = True

    # On both.

    def _verify(self, model: Any, inputs: Any, items: Any) -> None:
        """Find out once whether slices give the same losses and gradients."""
        if self._reason != UNVERIFIED or self._tries >= _TRIES:
            return
        self._tries += 1
        try:
            self._reason = self._found_reason(model, inputs, items)
        except NotSliceable:
            self._reason = "not_sliceable"
        except Exception:  # noqa: BLE001  it must not reach the training; the value stays blocked
            self._tries = _TRIES
        self._note_reason()

    def _found_reason(self, model: Any, inputs: Any, items: Any) -> str:
        reason = reason_against(self._trainer, model, items)
        if reason or samples_of(inputs) != self._per_rank:
            return reason or UNVERIFIED
        divided = is_divided(self._trainer, self._compute_loss, inputs, items)
        return UNVERIFIED if divided is None else "" if divided else MEAN_OF_MEANS

    def _note_reason(self) -> None:
        value = self._run.adjustments.values.get(MICRO_BATCH) if self._batches is not None else None
        if value is not None and not self._engaged:
            value.blocked = self._reason


def batch_of_rank(trainer: Any) -> int:
    """Return the number of samples that the loader of one rank gives."""
    arguments = trainer.args
    # With auto_find_batch_size, also in a checkpoint, it differs from the arguments.
    size = int(getattr(trainer, "_train_batch_size", None) or arguments.train_batch_size)
    if getattr(getattr(arguments, "accelerator_config", None), "split_batches", False):
        size //= max(1, int(arguments.world_size))
    return max(1, size)


def _release(error: BaseException | None) -> None:
    """Empty the frames of a failed pass. They hold its tensors, and the error holds them until it is dropped."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _pieces(inputs: Any, size: int) -> list[Any]:
    try:
        return slices(inputs, size)
    except NotSliceable:
        return [inputs]


def _note(where: str, size: int, reason: str) -> str:
    """Return the note for an error that is raised."""
    why = f"the batch cannot be sliced ({reason})" if reason else "its slices are as small as possible"
    return f"flyball: out of memory in {where} with {size} samples. Not repeated: {why}."
