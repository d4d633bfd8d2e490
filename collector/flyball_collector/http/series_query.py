"""Reads series of a host on one time axis, from stored blocks and from rows that are not stored yet."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.codec import decode_columns
from flyball_collector.store.contract import MinuteSeries, Store
from flyball_collector.store.definitions import LayoutFinder
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind

MAX_VALUES = 2_000_000
"""Maximum values of one answer: about 20 MB of JSON, and a quarter of a second of one core."""

Floats = NDArray[np.float64]
Times = NDArray[np.int64]


class TooManyValues(Exception):
    """The request is too large. The message has the limit."""


@dataclass(frozen=True, slots=True)
class SeriesColumn:
    """One column over the time axis; NaN is unknown. The extremes are those of a minute."""

    column: Column
    values: Floats
    minimum: Floats | None = None
    maximum: Floats | None = None
    counts: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class SeriesTable:
    """Columns on one time axis."""

    times_ns: Times
    lines: tuple[SeriesColumn, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows with only the requested columns."""

    columns: tuple[Column, ...]
    group: RowGroup


def read_seconds(
    store: Store,
    host: str,
    metrics: Collection[str],
    start_ns: int,
    end_ns: int,
    recent: Sequence[tuple[Layout, RowGroup]] = (),
) -> SeriesTable:
    """Return every record of a host in [start_ns, end_ns) of corrected time. It blocks, so call it in a thread."""
    pieces = _checked_pieces(
        piece
        for source in (
            _stored_pieces(store, host, set(metrics), start_ns, end_ns),
            _recent_pieces(recent, set(metrics)),
        )
        for found in source
        if (piece := _within(found, start_ns, end_ns)) is not None
    )
    if not pieces:
        return SeriesTable(np.zeros(0, np.int64), ())
    times_ns, rows_of_pieces = _axis(pieces)
    values: dict[Column, Floats] = {}
    for piece, rows in zip(pieces, rows_of_pieces, strict=True):
        known = np.where(piece.group.valid, piece.group.values, np.nan)
        for index, column in enumerate(piece.columns):
            line = values.setdefault(column, np.full(len(times_ns), np.nan))
            line[rows] = known[:, index] / column.metric.scale
    return SeriesTable(times_ns, tuple(SeriesColumn(column, line) for column, line in values.items()))


def read_minutes(store: Store, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> SeriesTable:
    """Return a point for each minute of a host in [start_ns, end_ns). It blocks, so call it in a thread."""
    found = store.read_minutes(host, metrics, start_ns, end_ns)
    axis = np.unique(np.concatenate([each.times_ns for each in found])) if found else np.zeros(0, np.int64)
    _check(4 * len(axis) * len(found))
    return SeriesTable(axis, tuple(_on_axis(each, axis) for each in found))


def rates(table: SeriesTable) -> SeriesTable:
    """Return counters as increase a second since the previous point, unknown after a decrease (a restart)."""
    seconds = np.diff(table.times_ns) / 1e9
    return SeriesTable(table.times_ns, tuple(_rate(line, seconds) for line in table.lines))


def _rate(line: SeriesColumn, seconds: Floats) -> SeriesColumn:
    if line.column.metric.kind is not Kind.COUNTER:
        return line
    increase = np.diff(line.values)
    rate = np.full(len(line.values), np.nan)
    np.divide(increase, seconds, out=rate[1:], where=(increase >= 0) & (seconds > 0))
    return replace(line, values=rate, minimum=None, maximum=None)


def _stored_pieces(store: Store, host: str, metrics: set[str], start_ns: int, end_ns: int) -> Iterator[_Piece]:
    columns_of = _column_finder(LayoutFinder(store.get_document), metrics)
    for block in store.read_blocks(host, start_ns, end_ns):
        for group in decode_columns(block.payload, lambda digest: columns_of(digest)[0]):
            yield _Piece(columns_of(group.layout)[1], group)


def _column_finder(
    layouts: LayoutFinder, metrics: set[str]
) -> Callable[[int], tuple[NDArray[np.intp], tuple[Column, ...]]]:
    """Return positions and columns of the metrics by layout digest; empty for unknown layouts."""
    known: dict[int, tuple[NDArray[np.intp], tuple[Column, ...]]] = {}

    def find(digest: int) -> tuple[NDArray[np.intp], tuple[Column, ...]]:
        if digest not in known:
            layout = layouts(digest)
            known[digest] = _positions(layout, metrics) if layout else (np.zeros(0, np.intp), ())
        return known[digest]

    return find


def _positions(layout: Layout, metrics: set[str]) -> tuple[NDArray[np.intp], tuple[Column, ...]]:
    positions = [index for index, column in enumerate(layout.columns) if column.metric.name in metrics]
    return np.array(positions, np.intp), tuple(layout.columns[index] for index in positions)


def _recent_pieces(recent: Iterable[tuple[Layout, RowGroup]], metrics: set[str]) -> Iterator[_Piece]:
    for layout, group in recent:
        positions, columns = _positions(layout, metrics)
        yield _Piece(columns, replace(group, values=group.values[:, positions], valid=group.valid[:, positions]))


def _within(piece: _Piece, start_ns: int, end_ns: int) -> _Piece | None:
    group = piece.group
    rows = np.flatnonzero((group.corrected_ns >= start_ns) & (group.corrected_ns < end_ns))
    if not len(rows) or not piece.columns:
        return None
    if len(rows) == len(group.sequences):
        return piece
    rows_within = replace(
        group,
        sequences=group.sequences[rows],
        agent_ns=group.agent_ns[rows],
        corrected_ns=group.corrected_ns[rows],
        values=group.values[rows],
        valid=group.valid[rows],
    )
    return _Piece(piece.columns, rows_within)


def _checked_pieces(pieces: Iterable[_Piece]) -> list[_Piece]:
    kept: list[_Piece] = []
    total = 0
    for piece in pieces:
        total += piece.group.values.size
        _check(total)
        kept.append(piece)
    return kept


def _check(values: int) -> None:
    if values > MAX_VALUES:
        raise TooManyValues(f"more than {MAX_VALUES:,} values")


def _axis(pieces: Sequence[_Piece]) -> tuple[Times, list[NDArray[np.intp]]]:
    """Return one rising axis, and the positions of each piece's rows. A row in both sources is one point."""
    corrected = np.concatenate([piece.group.corrected_ns for piece in pieces])
    agent = np.concatenate([piece.group.agent_ns for piece in pieces])
    sequences = np.concatenate([piece.group.sequences for piece in pieces])
    _, first, same = np.unique(np.stack([agent, sequences]), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(corrected[first], kind="stable")
    position_of = np.empty(len(order), np.intp)
    position_of[order] = np.arange(len(order))
    ends = np.cumsum([len(piece.group.sequences) for piece in pieces])
    return corrected[first][order], np.split(position_of[same.reshape(-1)], ends[:-1])


def _on_axis(series: MinuteSeries, axis: Times) -> SeriesColumn:
    positions = np.searchsorted(axis, series.times_ns)

    def put(values: NDArray[np.float64]) -> Floats:
        line = np.full(len(axis), np.nan)
        line[positions] = values
        return line

    counts = np.zeros(len(axis), np.int64)
    counts[positions] = series.counts
    return SeriesColumn(series.column, put(series.mean), put(series.minimum), put(series.maximum), counts)
