"""Counts the samples and tokens of a batch from the shapes of its tensors. No value is read."""

from __future__ import annotations

from collections import UserDict

Amounts = tuple[int | None, int | None]
_UNKNOWN: Amounts = (None, None)
_TOKEN_NAMES = ("input_ids", "decoder_input_ids", "tokens")


def amounts(batch: object) -> Amounts:
    """Return the number of samples and of tokens, padding included. None is unknown."""
    for _ in range(3):  # batches lie in lists at most twice
        if isinstance(batch, (list, tuple)):
            if not batch:
                return _UNKNOWN
            batch = batch[0]
        else:
            break
    if isinstance(batch, UserDict):  # what the tokenizers of transformers return
        batch = batch.data
    if isinstance(batch, dict):
        return _of_names(batch)
    shape = _shape(batch)
    return (shape[0], None) if shape else _UNKNOWN


def _of_names(batch: dict[object, object]) -> Amounts:
    """Return the amounts of a batch with names. Methods of a derived class could have effects, so none is called."""
    for name in _TOKEN_NAMES:
        shape = _shape(dict.get(batch, name))
        if len(shape) == 2:
            return shape[0], shape[0] * shape[1]
    for value in dict.values(batch):
        shape = _shape(value)
        if shape:
            return shape[0], None
    return _UNKNOWN


def _shape(value: object) -> tuple[int, ...]:
    """Return the shape of a tensor; that of anything else is empty."""
    shape = getattr(value, "shape", None) if hasattr(type(value), "shape") else None
    return tuple(shape) if isinstance(shape, tuple) and all(type(size) is int for size in shape) else ()
