"""Slices of a batch that has come: tensors, and mappings, tuples, lists and data classes of them.

Nothing is copied: a slice of a tensor is a view. The order stays. What is not recognised for certain is not sliced.
"""

from __future__ import annotations

import copy
from collections import UserDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Slice = Callable[[Any, int, int], Any]

_WHOLE = (str, bytes, int, float, complex, type(None))
"""What belongs to the batch as a whole, unless a list has one for each sample."""


class NotSliceable(Exception):
    """A batch whose samples are not recognised for certain."""


class BatchSlicer:
    """Slices the batches of one rank."""

    __slots__ = ("_known", "_user_slice", "per_rank")

    def __init__(self, per_rank: int, user_slice: Slice | None = None) -> None:
        self.per_rank = per_rank
        self._user_slice = user_slice
        self._known = False  # a whole batch was recognised

    def samples(self, data: Any) -> int:
        """Return the number of samples of a batch. Raise NotSliceable."""
        if self._user_slice is not None:
            return self._samples_for_user(data)
        parts = _parts_of(data)
        count = parts.count()
        if parts.sequences and not self._known and count != self.per_rank:
            # Images of different sizes come as a list of samples, whose first dimension is the same by chance.
            raise NotSliceable(f"a list of arrays with {count} entries each, but a batch has {self.per_rank} samples")
        if any(_may_be_samples(each, self.per_rank) for each in parts.sequences):
            raise NotSliceable("a list of arrays may hold the samples, or arrays of all samples")
        self._known = self._known or count == self.per_rank
        return count

    def slices(self, data: Any, size: int) -> list[Any]:
        """Return the batch in slices of this size, in order; the last may be smaller. Raise NotSliceable."""
        samples = self.samples(data)
        if samples <= size:
            return [data]
        bounds = [(start, min(start + size, samples)) for start in range(0, samples, size)]
        if self._user_slice is not None:
            return [self._user_slice(data, start, stop) for start, stop in bounds]
        try:
            return [cut(data, start, stop, samples) for start, stop in bounds]
        except Exception as error:
            raise NotSliceable(f"its parts cannot be sliced: {error}") from error

    def _samples_for_user(self, data: Any) -> int:
        """Return the number of samples of a batch that the script's own function slices."""
        try:
            return samples_of(data)
        except NotSliceable:
            return len(data) if hasattr(type(data), "__len__") else self.per_rank


def samples_of(data: Any) -> int:
    """Return the number of samples: the first dimension of every array. Raise NotSliceable if they differ."""
    return _parts_of(data).count()


def slices(data: Any, size: int) -> list[Any]:
    """Return a batch in slices of this size, in order; the last may be smaller. Raise NotSliceable."""
    samples = samples_of(data)
    return [cut(data, start, min(start + size, samples), samples) for start in range(0, samples, size)]


def cut(data: Any, start: int, stop: int, samples: int) -> Any:
    """Return some samples of a batch in the same structure."""
    if isinstance(data, _WHOLE):
        return data
    if _is_array(data):
        return data[start:stop] if data.shape else data
    if _is_list_of_values(data):
        return data[start:stop]
    children = _children(data)
    return _rebuilt(data, {key: cut(each, start, stop, samples) for key, each in children.items()})


class _Parts:
    """The parts of a batch: how many samples each has, and sequences of arrays."""

    def __init__(self) -> None:
        self.counts: set[int] = set()
        self.sequences: list[list[Any] | tuple[Any, ...]] = []

    def add(self, data: Any) -> None:
        if isinstance(data, _WHOLE):
            return
        if _is_array(data):
            if data.shape:
                self.counts.add(int(data.shape[0]))
        elif _is_list_of_values(data):
            self.counts.add(len(data))
        else:
            if type(data) in {list, tuple}:
                self.sequences.append(data)
            for each in _children(data).values():
                self.add(each)

    def count(self) -> int:
        if len(self.counts) == 1:
            return next(iter(self.counts))
        found = " and ".join(str(count) for count in sorted(self.counts))
        raise NotSliceable(f"its parts have {found} entries" if found else "it has no arrays")


def _parts_of(data: Any) -> _Parts:
    parts = _Parts()
    try:
        parts.add(data)
    except NotSliceable:
        raise
    except Exception as error:
        raise NotSliceable(f"its parts have no shape: {error}") from error
    return parts


def _is_array(data: Any) -> bool:
    kind = type(data)
    return hasattr(kind, "shape") and hasattr(kind, "__getitem__") and isinstance(data.shape, tuple)


def _is_list_of_values(data: Any) -> bool:
    """Return True for a list with a text or number for each sample."""
    return type(data) is list and bool(data) and all(isinstance(each, _WHOLE) for each in data)


def _may_be_samples(sequence: list[Any] | tuple[Any, ...], per_rank: int) -> bool:
    """Return True for as many arrays of one shape as there are samples."""
    shapes = {(str(getattr(each, "dtype", "")), tuple(each.shape)) if _is_array(each) else None for each in sequence}
    return len(sequence) == per_rank > 1 and len(shapes) == 1


def _children(data: Any) -> dict[Any, Any]:
    """Return the parts of a container. Raise NotSliceable if it is not known."""
    if isinstance(data, (list, tuple)):
        return dict(enumerate(data))
    if isinstance(data, (dict, UserDict)):  # the second: what the tokenizers of transformers return
        return dict(data.items())
    fields = getattr(type(data), "__dataclass_fields__", None)
    if fields is None:
        raise NotSliceable(f"{type(data).__name__} is not known")
    return {name: getattr(data, name) for name in fields if hasattr(data, name)}


def _rebuilt(data: Any, children: dict[Any, Any]) -> Any:
    """Return a container like this one with other parts."""
    if isinstance(data, (list, tuple)):
        kind = type(data)
        return kind(*children.values()) if hasattr(kind, "_fields") else kind(children.values())
    if type(data) is dict:
        return children
    new = copy.copy(data)
    for key, value in children.items():
        if isinstance(data, (dict, UserDict)):
            new[key] = value
        else:
            object.__setattr__(new, key, value)  # data classes may be frozen
    return new
