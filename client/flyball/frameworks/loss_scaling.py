"""Tests if the loss of a trainer is divided by the number of items. Only then can a batch be sliced.

Trainer passes the number of a whole step to every model whose `forward` has `**kwargs`. Some of them do not use it; the
mean of a slice added to the means of others would be several times the loss.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from flyball.micro_batches.slices import cut, samples_of
from flyball.training.loaded_modules import loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOLERANCE = 0.02
"""Of the ratio of two losses. A loss in bfloat16 has eight bits (0.4 %). A mean gives a ratio of 1, not 2."""

_SMALLEST = 1e-6  # a loss below it has too few digits


def is_divided(trainer: Any, compute_loss: Callable[..., Any], inputs: Any, items: Any) -> bool | None:
    """Return True if twice the number of items gives half of the loss. None: it cannot be seen with these inputs.

    One sample is computed twice, without gradients, by the model itself (no rank waits for another) and with the same
    random numbers, which are restored afterwards.
    """
    torch = loaded("torch")
    if torch is None:
        return None
    losses = []
    for factor in (1, 2):
        with torch.no_grad(), _same_random_numbers(torch, trainer.model), _context(trainer):
            sample = trainer._prepare_inputs(cut(inputs, 0, 1, samples_of(inputs)))
            loss = compute_loss(trainer.model, sample, num_items_in_batch=items * factor)
            losses.append(float(loss[0] if isinstance(loss, tuple) else loss))
    once, twice = losses
    if not (_SMALLEST < abs(twice) < float("inf") and abs(once) < float("inf")):
        return None  # no label counts in this sample, or the loss is not finite
    return abs(once / twice - 2.0) <= TOLERANCE


@contextlib.contextmanager
def _same_random_numbers(torch: Any, model: Any) -> Iterator[None]:
    """Restore the random numbers of the CPU and of the model's devices."""
    devices = {each.device for each in model.parameters()}
    kinds = {each.type for each in devices} - {"cpu", "meta"}
    if not kinds:
        with torch.random.fork_rng(devices=[]):
            yield
        return
    kind = kinds.pop()
    found = [each for each in devices if each.type == kind]
    with torch.random.fork_rng(devices=found, device_type=kind):
        yield


def _context(trainer: Any) -> Any:
    """Return the trainer's context for a loss, where it has one."""
    find = getattr(trainer, "compute_loss_context_manager", None)
    return find() if find is not None else contextlib.nullcontext()
