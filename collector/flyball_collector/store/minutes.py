"""Minute series: the points of one metric of one host in one hour, encoded as a chunk.

A block gives one point for each column. A point is identified by (epoch, block number), so that a repeated or late
block replaces its point instead of adding one. Gauges and counters keep the mean of the minute, states the last code,
because a mean of codes has no meaning.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.bytes_reader import BytesReader
from flyball_collector.blocks.frame import seal, unseal
from flyball_collector.blocks.matrix import MatrixReader, write_matrix
from flyball_collector.blocks.summary import STEPS, LayoutSummary
from flyball_collector.store.contract import MinuteSeries
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind

HOUR_NS = 3_600_000_000_000

Integers = NDArray[np.int64]
FindLayout = Callable[[int], Layout | None]


@dataclass(frozen=True, slots=True)
class BlockPoints:
    """The points that one block adds to the minute series."""

    epoch: bytes
    number: int
    first_ns: int
    summaries: tuple[LayoutSummary, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Points of one metric, sorted by time. The matrices are column × point, 0 where nothing was read."""

    columns: tuple[Column, ...]
    epochs: tuple[bytes, ...]  # one for each point, like the next two
    numbers: Integers
    times_ns: Integers
    counts: Integers
    minimum: Integers
    maximum: Integers
    middle: Integers  # a state's last code; else the position of the mean, in steps between minimum and maximum


def hour_of(time_ns: int) -> int:
    """Return the hours since 1970."""
    return time_ns // HOUR_NS


def chunks_of(
    blocks: Sequence[BlockPoints], find: FindLayout, metrics: Iterable[str] | None = None
) -> dict[str, Chunk]:
    """Return the points of blocks as chunks by metric (`None`: every metric). Unknown layouts are skipped."""
    points = sorted(
        ((summary.first_ns, block.epoch, block.number, summary) for block in blocks for summary in block.summaries),
        key=lambda point: point[:3],
    )
    found = {digest: find(digest) for digest in {point[3].layout for point in points}}
    layouts = {digest: layout for digest, layout in found.items() if layout is not None}
    points = [point for point in points if point[3].layout in layouts]
    stacks = _stacks([point[3] for point in points], layouts)
    names = {name for layout in layouts.values() for name in layout.places}
    if metrics is not None:
        names &= set(metrics)
    epochs = tuple(point[1] for point in points)
    numbers = np.array([point[2] for point in points], dtype=np.int64)
    times = np.array([point[0] for point in points], dtype=np.int64)
    return {name: _metric_chunk(name, epochs, numbers, times, stacks) for name in sorted(names)}


def merge(old: Chunk, new: Chunk) -> Chunk:
    """Merge chunks. Where both have points of a block, only the newer ones stay."""
    replaced = set(zip(new.epochs, new.numbers.tolist(), strict=True))
    return join([without(old, replaced), new])


def without(chunk: Chunk, blocks: set[tuple[bytes, int]]) -> Chunk:
    """Return a chunk without the points of some blocks."""
    keep = [i for i, point in enumerate(zip(chunk.epochs, chunk.numbers.tolist(), strict=True)) if point not in blocks]
    return _take(chunk, np.array(keep, dtype=np.intp))


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Join chunks that share no point."""
    places: dict[Column, int] = {}
    for chunk in chunks:
        for column in chunk.columns:
            places.setdefault(column, len(places))
    total = sum(len(chunk.epochs) for chunk in chunks)
    matrices = np.zeros((4, len(places), total), dtype=np.int64)
    start = 0
    for chunk in chunks:
        rows = np.array([places[column] for column in chunk.columns], dtype=np.intp)
        end = start + len(chunk.epochs)
        matrices[:, rows, start:end] = (chunk.counts, chunk.minimum, chunk.maximum, chunk.middle)
        start = end
    times = np.concatenate([chunk.times_ns for chunk in chunks])
    joined = Chunk(
        tuple(places),
        tuple(epoch for chunk in chunks for epoch in chunk.epochs),
        np.concatenate([chunk.numbers for chunk in chunks]),
        times,
        *matrices,
    )
    return _take(joined, np.argsort(times, kind="stable"))


def encode_chunk(chunk: Chunk) -> bytes:
    """Encode a chunk. Its columns are identified by the digest of `columns_layout(chunk)`."""
    return seal(_sections(chunk))


def columns_layout(chunk: Chunk) -> Layout:
    """Return the chunk's columns as a definition that many chunks share."""
    return Layout(chunk.columns)


def decode_chunk(encoded: bytes, find: FindLayout) -> Chunk | None:
    """Decode what `encode_chunk` returned, or return `None` if its columns are unknown."""
    reader = BytesReader(unseal(encoded))
    layout = find(int(reader.array("<u8", 1)[0]))
    if layout is None:
        return None
    count, runs = (int(number) for number in reader.array("<u4", 2))
    lengths = reader.array("<u4", runs)
    ids = [reader.bytes(16) for _ in range(runs)]
    epochs = tuple(epoch for epoch, length in zip(ids, lengths, strict=True) for _ in range(length))
    numbers, times = MatrixReader(reader, 2, count).read()
    columns = len(layout.columns)
    counts, minimum, span, middle = MatrixReader(reader, 4 * columns, count).read().reshape(4, columns, count)
    return Chunk(layout.columns, epochs, numbers, times, counts, minimum, minimum + span, middle)


def series_of(chunks: Iterable[Chunk], start_ns: int, end_ns: int) -> list[MinuteSeries]:
    """Return chunks of one metric as series in its unit, one per column, with points of [start, end) sorted by time.

    A column whose metric was declared again (another help text, another scale) continues as one series.
    """
    alike: dict[tuple[Column, ...], list[Chunk]] = {}
    for chunk in chunks:
        alike.setdefault(chunk.columns, []).append(chunk)
    parts: dict[tuple[tuple[str, str], ...], list[MinuteSeries]] = {}
    for same in alike.values():
        for series in _column_series(join(same), start_ns, end_ns):
            parts.setdefault(series.column.label_pairs(), []).append(series)
    return [_concatenated(part) for _, part in sorted(parts.items())]


def _column_series(chunk: Chunk, start_ns: int, end_ns: int) -> Iterator[MinuteSeries]:
    inside = (chunk.times_ns >= start_ns) & (chunk.times_ns < end_ns)
    for row, column in enumerate(chunk.columns):
        known = inside & (chunk.counts[row] > 0)
        if known.any():
            scale = float(column.metric.scale)
            least = chunk.minimum[row, known].astype(np.float64)
            most = chunk.maximum[row, known].astype(np.float64)
            middle = chunk.middle[row, known].astype(np.float64)
            mean = middle if column.metric.kind is Kind.STATE else least + (most - least) * (middle / STEPS)
            times, counts = chunk.times_ns[known], chunk.counts[row, known]
            yield MinuteSeries(column, times, least / scale, mean / scale, most / scale, counts)


def _concatenated(parts: Sequence[MinuteSeries]) -> MinuteSeries:
    """Join several series. The newest gives the column."""
    if len(parts) == 1:
        return parts[0]
    newest = max(parts, key=lambda part: int(part.times_ns[-1]))
    order = np.argsort(np.concatenate([part.times_ns for part in parts]), kind="stable")
    return MinuteSeries(
        newest.column,
        np.concatenate([part.times_ns for part in parts])[order],
        np.concatenate([part.minimum for part in parts])[order],
        np.concatenate([part.mean for part in parts])[order],
        np.concatenate([part.maximum for part in parts])[order],
        np.concatenate([part.counts for part in parts])[order],
    )


def _take(chunk: Chunk, points: NDArray[np.intp]) -> Chunk:
    if len(points) == len(chunk.epochs) and (np.diff(points) == 1).all():
        return chunk  # all points, in the same order
    return Chunk(
        chunk.columns,
        tuple(chunk.epochs[point] for point in points),
        chunk.numbers[points],
        chunk.times_ns[points],
        chunk.counts[:, points],
        chunk.minimum[:, points],
        chunk.maximum[:, points],
        chunk.middle[:, points],
    )


@dataclass(frozen=True, slots=True)
class _SummaryStack:
    """Summaries of one layout: their points, and matrices point × column."""

    layout: Layout
    points: NDArray[np.intp]
    counts: Integers
    minimum: Integers
    maximum: Integers
    last: Integers
    mean_steps: Integers


def _stacks(summaries: Sequence[LayoutSummary], layouts: Mapping[int, Layout]) -> list[_SummaryStack]:
    by_layout: dict[int, list[int]] = {}
    for point, summary in enumerate(summaries):
        by_layout.setdefault(summary.layout, []).append(point)
    return [
        _SummaryStack(
            layouts[digest],
            np.array(points, dtype=np.intp),
            np.stack([summaries[point].counts for point in points]),
            np.stack([summaries[point].minimum for point in points]),
            np.stack([summaries[point].maximum for point in points]),
            np.stack([summaries[point].last for point in points]),
            np.stack([summaries[point].mean_steps for point in points]),
        )
        for digest, points in by_layout.items()
    ]


def _metric_chunk(
    name: str, epochs: tuple[bytes, ...], numbers: Integers, times: Integers, stacks: list[_SummaryStack]
) -> Chunk:
    places: dict[Column, int] = {}
    for stack in stacks:
        for index in stack.layout.places.get(name, ()):
            places.setdefault(stack.layout.columns[index], len(places))
    matrices = np.zeros((4, len(places), len(epochs)), dtype=np.int64)
    for stack in stacks:
        picks = stack.layout.places.get(name, [])
        rows = np.array([places[stack.layout.columns[index]] for index in picks], dtype=np.intp)
        states = np.array([stack.layout.columns[index].metric.kind is Kind.STATE for index in picks], dtype=np.bool_)
        middle = np.where(states, stack.last[:, picks], stack.mean_steps[:, picks])
        parts = (stack.counts[:, picks], stack.minimum[:, picks], stack.maximum[:, picks], middle)
        for matrix, part in zip(matrices, parts, strict=True):
            matrix[np.ix_(rows, stack.points)] = part.T
    return Chunk(tuple(places), epochs, numbers, times, *matrices)


def _sections(chunk: Chunk) -> Iterator[bytes]:
    count = len(chunk.epochs)
    starts = [i for i in range(count) if not i or chunk.epochs[i] != chunk.epochs[i - 1]]
    lengths = np.diff(np.array([*starts, count], dtype=np.int64))
    yield b"".join(
        (
            np.uint64(columns_layout(chunk).digest).tobytes(),
            np.array((count, len(starts)), dtype="<u4").tobytes(),
            lengths.astype("<u4").tobytes(),
            *(chunk.epochs[start] for start in starts),
        )
    )
    yield from write_matrix(np.stack((chunk.numbers, chunk.times_ns)))
    yield from write_matrix(np.concatenate((chunk.counts, chunk.minimum, chunk.maximum - chunk.minimum, chunk.middle)))
