"""The gradients of a model: those that earlier batches have left, and the begin of an optimizer's step."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


def missing_bytes(model: Any, parameters: Iterable[Any]) -> int:
    """Return the size of the gradients that a backward pass will add: those of parameters that have none now.

    The buckets of a DDP model that serve as gradients are allocated already.
    """
    if getattr(model, "gradient_as_bucket_view", False):
        return 0
    missing = [each for each in parameters if each.requires_grad and each.grad is None]
    own = [getattr(each, "_local_tensor", each) for each in missing]  # the shard of this rank
    return sum(each.numel() * each.element_size() for each in own)


_MOST_WATCHED = 4  # of the begin, the middle and the end of a model: some may be used in some batches only


class Gradients:
    """Watches a few parameters, because looking at all of them at each step would cost more than the step may.

    PyTorch counts the changes of a tensor. An optimizer changes the parameters; forward and backward do not.
    """

    __slots__ = ("_parameters", "_versions", "_watched", "is_pending", "repeats")

    def __init__(self, parameters: Sequence[Any]) -> None:
        self._parameters = parameters
        self._watched: list[Any] = []  # parameters that receive gradients
        self._versions: list[int] = []
        self.is_pending = False  # earlier batches have left gradients
        self.repeats = False  # it was so although no optimizer had stepped: the script accumulates by itself

    def begin(self, is_open: bool) -> None:
        """Look at the gradients before a batch. `is_open` is true if the script has announced several a step."""
        versions = self._newest_versions()
        if not self._watched:
            self.is_pending = any(each.grad is not None for each in self._parameters)
        else:
            self.is_pending = versions == self._versions and any(each.grad is not None for each in self._watched)
            self.repeats = self.repeats or (self.is_pending and not is_open)
        self._versions = versions

    def end(self) -> None:
        """Look at the gradients after a batch."""
        if not self._watched:
            found = [each for each in self._parameters if each.grad is not None]
            self._watched = found[:: max(1, len(found) // _MOST_WATCHED)]
        self._versions = self._newest_versions()

    @property
    def optimizer_began(self) -> bool:
        """Return True if a parameter has changed since the batch began."""
        return self._newest_versions() != self._versions

    def clear(self, clear: Callable[[], object] | None) -> None:
        """Remove the gradients of the batch, with the script's own function if there is one."""
        if clear is not None:
            clear()
            return
        for each in self._parameters:
            each.grad = None

    def can_clear(self, clear: object) -> bool:
        """Return True if the gradients of a batch can be removed."""
        return clear is not None or bool(self._parameters)

    def _newest_versions(self) -> list[int]:
        return [each._version for each in self._watched or self._parameters[:1]]
