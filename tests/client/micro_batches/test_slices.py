"""Batches of many forms are sliced in order, and what is not recognised for certain is not sliced."""

from collections import UserDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from flyball.micro_batches.slices import BatchSlicer, NotSliceable, samples_of, slices

Pair = namedtuple("Pair", "x y")


@dataclass(frozen=True)
class FrozenBatch:
    """A data class that cannot be changed."""

    x: Any
    name: str = "a"


def rows(count: int = 6, width: int = 2) -> Any:
    """Return an array whose entries are all different."""
    return np.arange(count * width).reshape(count, width)


@pytest.mark.parametrize(
    "data",
    [
        rows(),
        {"x": rows(), "y": np.arange(6), "step": 3, "scale": np.array(2.0), "none": None},
        (rows(), np.arange(6)),
        [rows(), np.arange(6)],
        Pair(rows(), (np.arange(6), "text")),
        UserDict(ids=rows(), mask=rows()),
        FrozenBatch(rows()),
        {"x": rows(), "texts": list("abcdef")},
    ],
)
def test_the_slices_of_a_batch_together_are_the_batch(data: Any) -> None:
    """In the same structure and order; texts and numbers of the whole batch are in each slice."""
    parts = BatchSlicer(6).slices(data, 2)
    assert [type(part) for part in parts] == [type(data)] * 3
    assert _joined([_leaves(part) for part in parts]) == _joined([_leaves(data)])


def _leaves(data: Any) -> list[Any]:
    if isinstance(data, FrozenBatch):
        data = {"x": data.x}
    if isinstance(data, (dict, UserDict)):
        data = list(data.values())
    if isinstance(data, (list, tuple)) and not all(isinstance(each, str) for each in data):
        return [leaf for each in data for leaf in _leaves(each)]
    return [data]


def _joined(parts: list[list[Any]]) -> list[Any]:
    """Return the leaves of all parts, joined, in plain types."""
    found = []
    for leaves in zip(*parts, strict=True):
        if isinstance(leaves[0], np.ndarray) and leaves[0].ndim:
            found.append(np.concatenate(leaves).tolist())
        elif isinstance(leaves[0], list):
            found.append([each for leaf in leaves for each in leaf])
        else:
            found.append(str(leaves[0]))
    return found


def test_a_slice_of_an_array_is_a_view() -> None:
    """Nothing is copied."""
    data = rows()
    assert all(np.shares_memory(part, data) for part in slices(data, 2))


def test_a_last_batch_may_be_smaller() -> None:
    """Its last slice has the rest."""
    assert [len(part) for part in BatchSlicer(8).slices(rows(5), 2)] == [2, 2, 1]
    assert len(BatchSlicer(8).slices(rows(5), 8)) == 1


@pytest.mark.parametrize(
    "data",
    [
        {"x": rows(), "weights": np.arange(10)},
        {"x": rows(), "texts": list("abc")},
        object(),
        {"x": object()},
        "text",
        {},
        [rows() for _ in range(6)],  # six samples with six entries each, or six arrays of all samples
        [rows(3) for _ in range(6)],  # images with three colours
    ],
)
def test_what_is_not_certain_is_not_sliced(data: Any) -> None:
    """A wrong slice would train on wrong data without an error."""
    with pytest.raises(NotSliceable):
        BatchSlicer(6).slices(data, 2)


def test_lists_of_arrays_are_recognised_by_a_whole_batch() -> None:
    """Then the smaller batch at the end of an epoch is recognised too, but not before."""
    slicer = BatchSlicer(6)
    with pytest.raises(NotSliceable):
        slicer.slices([rows(4), np.arange(4)], 2)
    assert len(slicer.slices([rows(6), np.arange(6)], 2)) == 3
    assert len(slicer.slices([rows(4), np.arange(4)], 2)) == 2


def test_the_scripts_own_function_slices_other_forms() -> None:
    """It is called with the batch, the first sample and the one behind the last."""
    calls: list[tuple[int, int]] = []

    def own(data: Any, start: int, stop: int) -> Any:
        calls.append((start, stop))
        return data[start:stop]

    images = [rows(count) for count in range(1, 6)]  # of different sizes
    assert BatchSlicer(6, own).slices(images, 2) == [images[:2], images[2:4], images[4:]]
    assert calls == [(0, 2), (2, 4), (4, 5)]


def test_the_number_of_samples_is_the_first_dimension_of_every_array() -> None:
    """It is the same for all."""
    assert samples_of({"ids": rows(4), "labels": rows(4, 3)}) == 4
    with pytest.raises(NotSliceable, match="4 and 5 entries"):
        samples_of({"ids": rows(4), "labels": rows(5)})


class OddArray:
    """An array with a shape, but without slices."""

    shape = (6,)

    def __getitem__(self, index: object) -> object:
        raise TypeError("cannot be sliced")


class NoShape:
    """An array whose shape cannot be asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Raise what nested tensors raise."""
        raise RuntimeError("sizes differ")

    def __getitem__(self, index: object) -> object:
        return self


@pytest.mark.parametrize("data", [{"x": rows(), "odd": OddArray()}, NoShape()])
def test_arrays_that_raise_are_not_sliced(data: object) -> None:
    """The training goes on with the whole batch."""
    with pytest.raises(NotSliceable):
        BatchSlicer(6).slices(data, 2)
