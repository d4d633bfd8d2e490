"""`self.flyball` of a LightningModule in manual optimization: its run, and its batch in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flyball.training.protocols import MicroBatching
    from flyball.training.run import Run

OPTIONS = ("per_rank", "micro", "normalised", "slice")
"""Options of the callback that are those of `run.batch`."""


class LightningHandle:
    """The attribute `flyball` of a module while it trains."""

    def __init__(self, run: Run, trainer: Any, options: Mapping[str, Any]) -> None:
        self.run = run
        self._trainer = trainer
        self._options = dict(options)
        self._batch: LightningBatch | None = None

    @property
    def batch(self) -> LightningBatch:
        """Return what computes a batch in slices. Raise ValueError if the callback has no options for it."""
        if self._batch is None:
            if "per_rank" not in self._options:
                raise ValueError(
                    "self.flyball.batch: the size of a batch is unknown. Pass it to the callback, for example "
                    'flyball.lightning.Callback(run="vit-3", per_rank=64, micro=16, normalised="samples")'
                )
            self._batch = LightningBatch(self.run.batch(**self._options), self._trainer)
        return self._batch

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the run behind: a copy of the module, such as averaged weights, does not train."""
        return NoHandle, ()


class LightningBatch:
    """Slices the batch of one training step, with the model as Lightning's strategy has wrapped it."""

    def __init__(self, batches: MicroBatching, trainer: Any) -> None:
        self._batches = batches
        self._trainer = trainer

    @property
    def micro(self) -> int:
        """Return the number of samples in a slice."""
        return int(self._batches.micro)

    def accumulate(
        self, part: Callable[[Any], Any], data: Any, *, clear: Callable[[], object] | None = None, last: bool = True
    ) -> Any:
        """Call `part` with each slice. It computes the loss, calls `manual_backward` and returns the detached loss."""
        return self._batches.accumulate(part, data, model=self._trainer.strategy.model, clear=clear, last=last)


class NoHandle:
    """Takes the place of `self.flyball` in a copy of a module."""
