"""Reports a training that steps an engine of DeepSpeed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from flyball.adjustments.value import AdjustableValue
from flyball.frameworks.attachment import Attachment, attempt
from flyball.micro_batches.micro_batches import MICRO_BATCH

if TYPE_CHECKING:
    from collections.abc import Callable


def attach(engine: Any, attachment: Attachment) -> None:
    """Report the steps of this engine. The engine offers no callbacks, so its own functions are measured."""
    watch = EngineWatch(engine, attachment)
    if hasattr(engine, "train_batch"):  # a pipeline: one call is one step
        _replace(engine, "train_batch", watch.of_pipeline)
    else:
        _replace(engine, "backward", watch.of_backward)
        _replace(engine, "step", watch.of_step)
    attachment.run.on_adjustments("deepspeed", lambda adjustments: adjustments.add(blocked_micro_batch(engine)))


def blocked_micro_batch(engine: Any) -> AdjustableValue:
    """Return the micro-batch of an engine, which shows its size and cannot change.

    `set_train_micro_batch_size` keeps the number of accumulated batches, so the global batch would change with it.
    """
    size = int(engine.train_micro_batch_size_per_gpu())
    value = AdjustableValue(MICRO_BATCH, size, choices=(size,), safety=2, lever=MICRO_BATCH)
    value.blocked = "deepspeed"
    return value


class EngineWatch:
    """Measures the functions of one engine."""

    def __init__(self, engine: Any, attachment: Attachment) -> None:
        self._engine = engine
        self._attachment = attachment
        self._loss: Any = None
        self._known = int(engine.global_steps)
        attachment.begin(rank=engine.global_rank, world_size=engine.world_size, done_steps=self._known)

    def of_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return `backward` with its time measured; before it lies the forward pass."""

        def backward(loss: Any, *values: Any, **named: Any) -> Any:
            attempt(self._forward_ended, loss)
            result = original(loss, *values, **named)
            attempt(self._attachment.run.mark, "backward")
            return result

        return backward

    def of_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return `step`. It ends a step only where gradients have been accumulated."""

        def step(*values: Any, **named: Any) -> Any:
            result = original(*values, **named)
            attempt(self._stepped, self._loss)
            return result

        return step

    def of_pipeline(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return `train_batch` of a pipeline, which runs a whole step and returns its loss."""

        def train_batch(*values: Any, **named: Any) -> Any:
            loss = original(*values, **named)
            attempt(self._stepped, loss)
            return loss

        return train_batch

    def _forward_ended(self, loss: Any) -> None:
        self._attachment.run.mark("forward")
        self._loss = loss.detach()

    def _stepped(self, loss: Any) -> None:
        engine, run = self._engine, self._attachment.run
        steps = int(engine.global_steps)
        if steps == self._known:
            return  # gradients were only accumulated
        self._known, self._loss = steps, None
        run.mark("optimizer")
        samples = engine.train_micro_batch_size_per_gpu() * engine.gradient_accumulation_steps()
        run.step(steps, samples=samples, loss=loss)


def _replace(engine: Any, name: str, measured: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a measured function before one of this engine, in place of an earlier one."""
    earlier = engine.__dict__.get(name)
    original = getattr(earlier, "flyball_original", None) or getattr(engine, name)
    function = functools.wraps(original)(measured(original))
    function.flyball_original = original  # type: ignore[attr-defined]  # functions accept attributes
    setattr(engine, name, function)
