"""The size of a batch from the shapes of its tensors. No value is read: that would make the training wait for a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_TOKENS = "input_ids"
_DEEPEST = 4  # lists and mappings in each other


def batch_samples(batch: object) -> int | None:
    """Return the first dimension of the first tensor in a batch, or None."""
    shape = _first_shape(batch, 0)
    return _count(shape[:1]) if shape else None


def batch_tokens(batch: object) -> int | None:
    """Return the number of tokens in a batch of texts, padding included; None for other batches."""
    if not isinstance(batch, Mapping) or _TOKENS not in batch:
        return None
    shape = getattr(batch[_TOKENS], "shape", None)
    return _count(shape) if shape else None


def _first_shape(part: object, depth: int) -> Sequence[object] | None:
    shape: Sequence[object] | None = getattr(part, "shape", None)
    if shape:
        return shape
    if depth > _DEEPEST:
        return None
    if isinstance(part, Mapping):
        parts = list(part.values())
    elif isinstance(part, list | tuple):
        parts = list(part)
    else:
        return None
    for each in parts:
        shape = _first_shape(each, depth + 1)
        if shape:
            return shape
    return None


def _count(shape: Sequence[object]) -> int | None:
    """Return the product of dimensions, or None if one is unknown, as while a function is compiled."""
    product = 1
    for length in shape:
        if not isinstance(length, int):
            return None
        product *= length
    return product


def added(known: int | None, more: int | None) -> int | None:
    """Return a sum of counts of which each may be unknown."""
    if more is None:
        return known
    return more if known is None else known + more
