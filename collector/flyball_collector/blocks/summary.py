"""Summarises a minute of each column as minimum, mean, maximum and last value, with the number of values.

Minimum, maximum and last are exact (scaled integers, as they were sent). The mean is stored as its position between
minimum and maximum, in 65,520 steps, which fits into two bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.bytes_reader import BytesReader
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.frame import seal, unseal
from flyball_collector.blocks.matrix import MatrixReader, write_matrix

Integers = NDArray[np.int64]

STEPS = 65_520  # divisible by 60 and its divisors, so that means of small integers are exact
_MAX_COLUMNS = 1 << 20


@dataclass(frozen=True, slots=True)
class LayoutSummary:
    """Rows of one layout in one block, one entry per column. Where `counts` is 0, the others are 0 without meaning."""

    layout: int
    first_ns: int  # corrected time of the first row
    counts: Integers
    minimum: Integers
    maximum: Integers
    last: Integers
    mean_steps: Integers  # position of the mean: minimum + (maximum - minimum) * mean_steps / STEPS


def summarize(group: RowGroup) -> LayoutSummary:
    """Summarise the rows of a group."""
    values, valid = group.values, group.valid
    counts = valid.sum(axis=0, dtype=np.int64)
    if (counts == len(values)).all():
        minimum, maximum, last = values.min(axis=0), values.max(axis=0), values[-1].copy()
    else:
        minimum, maximum, last = _extremes(values, valid, counts > 0)
    steps = _mean_steps(values, valid, counts, minimum, maximum)
    return LayoutSummary(group.layout, int(group.corrected_ns[0]), counts, minimum, maximum, last, steps)


def _extremes(
    values: Integers, valid: NDArray[np.bool_], some: NDArray[np.bool_]
) -> tuple[Integers, Integers, Integers]:
    """Return minimum, maximum and last known value of each column; 0 where all are unknown."""
    limits = np.iinfo(np.int64)
    minimum = np.where(some, np.where(valid, values, limits.max).min(axis=0), 0)
    maximum = np.where(some, np.where(valid, values, limits.min).max(axis=0), 0)
    rows = len(values) - 1 - valid[::-1].argmax(axis=0)
    return minimum, maximum, np.where(some, values[rows, np.arange(values.shape[1])], 0)


def _mean_steps(
    values: Integers, valid: NDArray[np.bool_], counts: Integers, minimum: Integers, maximum: Integers
) -> Integers:
    """Return the positions of the means, from offsets to the minimum, so that large counters are not rounded."""
    span = (maximum - minimum).view(np.uint64).astype(np.float64)
    offsets = (values - minimum).view(np.uint64)
    sums = np.add.reduce(offsets, axis=0, dtype=np.float64, where=valid)
    scale = np.maximum(span, 1.0) * np.maximum(counts, 1)
    steps: Integers = np.clip(np.rint(sums / scale * STEPS), 0, STEPS).astype(np.int64)
    return steps


def encode_summary(summaries: Sequence[LayoutSummary]) -> bytes:
    """Encode summaries."""
    return seal(_sections(summaries))


def decode_summary(encoded: bytes) -> tuple[LayoutSummary, ...]:
    """Decode what `encode_summary` returned."""
    reader = BytesReader(unseal(encoded))
    return tuple(_read(reader) for _ in range(int(reader.array("<u4", 1)[0])))


def _sections(summaries: Sequence[LayoutSummary]) -> Iterator[bytes]:
    yield np.uint32(len(summaries)).tobytes()
    for summary in summaries:
        yield np.uint64(summary.layout).tobytes() + np.int64(summary.first_ns).tobytes()
        yield np.uint32(len(summary.counts)).tobytes()
        if not len(summary.counts):
            continue
        yield from write_matrix(
            np.stack(
                (
                    summary.counts,
                    summary.minimum,
                    summary.maximum - summary.minimum,
                    summary.maximum - summary.last,
                    summary.mean_steps,
                )
            )
        )


def _read(reader: BytesReader) -> LayoutSummary:
    layout = int(reader.array("<u8", 1)[0])
    first_ns = int(reader.array("<i8", 1)[0])
    columns = int(reader.array("<u4", 1)[0])
    if columns > _MAX_COLUMNS:
        raise BlockError(f"encoded summary of {columns} columns; the limit is {_MAX_COLUMNS}")
    if not columns:
        empty = np.empty(0, dtype=np.int64)
        return LayoutSummary(layout, first_ns, empty, empty, empty, empty, empty)
    counts, minimum, span, behind, steps = MatrixReader(reader, 5, columns).read()
    maximum = minimum + span
    return LayoutSummary(layout, first_ns, counts, minimum, maximum, maximum - behind, steps)
