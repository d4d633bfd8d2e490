"""Series of a host on one time axis: from stored blocks, and from rows that are not stored yet."""

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
"""Most values of one answer: about 20 MB of JSON, and a quarter of a second of one core."""

Floats = NDArray[np.float64]
Times = NDArray[np.int64]


class TooManyValues(Exception):
    """The question is too large; the message says how large."""


@dataclass(frozen=True, slots=True)
class Line:
    """One column over the axis of its table; NaN is unknown. The extremes are those of a minute."""

    column: Column
    values: Floats
    minimum: Floats | None = None
    maximum: Floats | None = None
    counts: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Lines on one axis."""

    times_ns: Times
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows with the wanted columns only."""

    columns: tuple[Column, ...]
    group: RowGroup


def read_seconds(
    store: Store,
    host: str,
    metrics: Collection[str],
    start_ns: int,
    end_ns: int,
    recent: Sequence[tuple[Layout, RowGroup]] = (),
) -> Table:
    """Every record of a host in [start_ns, end_ns) of corrected time. Blocks: call it in a thread."""
    pieces = _bounded(
        piece
        for source in (_stored(store, host, set(metrics), start_ns, end_ns), _picked(recent, set(metrics)))
        for found in source
        if (piece := _inside(found, start_ns, end_ns)) is not None
    )
    if not pieces:
        return Table(np.zeros(0, np.int64), ())
    times_ns, places = _axis(pieces)
    values: dict[Column, Floats] = {}
    for piece, place in zip(pieces, places, strict=True):
        known = np.where(piece.group.valid, piece.group.values, np.nan)
        for index, column in enumerate(piece.columns):
            line = values.setdefault(column, np.full(len(times_ns), np.nan))
            line[place] = known[:, index] / column.metric.scale
    return Table(times_ns, tuple(Line(column, line) for column, line in values.items()))


def read_minutes(store: Store, host: str, metrics: Collection[str], start_ns: int, end_ns: int) -> Table:
    """A point a minute of a host in [start_ns, end_ns). Blocks: call it in a thread."""
    found = store.read_minutes(host, metrics, start_ns, end_ns)
    axis = np.unique(np.concatenate([each.times_ns for each in found])) if found else np.zeros(0, np.int64)
    _check(4 * len(axis) * len(found))
    return Table(axis, tuple(_spread(each, axis) for each in found))


def rates(table: Table) -> Table:
    """Counters as growth a second since the point before; a fall is a restart, whose growth is not known."""
    seconds = np.diff(table.times_ns) / 1e9
    return Table(table.times_ns, tuple(_rate(line, seconds) for line in table.lines))


def _rate(line: Line, seconds: Floats) -> Line:
    if line.column.metric.kind is not Kind.COUNTER:
        return line
    grown = np.diff(line.values)
    rate = np.full(len(line.values), np.nan)
    np.divide(grown, seconds, out=rate[1:], where=(grown >= 0) & (seconds > 0))
    return replace(line, values=rate, minimum=None, maximum=None)


def _stored(store: Store, host: str, metrics: set[str], start_ns: int, end_ns: int) -> Iterator[_Piece]:
    wanted = _wanted(LayoutFinder(store.get_document), metrics)
    for block in store.read_blocks(host, start_ns, end_ns):
        for group in decode_columns(block.payload, lambda digest: wanted(digest)[0]):
            yield _Piece(wanted(group.layout)[1], group)


def _wanted(layouts: LayoutFinder, metrics: set[str]) -> Callable[[int], tuple[NDArray[np.intp], tuple[Column, ...]]]:
    """Places and columns of the wanted metrics by layout digest; none where the layout is not known."""
    known: dict[int, tuple[NDArray[np.intp], tuple[Column, ...]]] = {}

    def find(digest: int) -> tuple[NDArray[np.intp], tuple[Column, ...]]:
        if digest not in known:
            layout = layouts(digest)
            known[digest] = _places(layout, metrics) if layout else (np.zeros(0, np.intp), ())
        return known[digest]

    return find


def _places(layout: Layout, metrics: set[str]) -> tuple[NDArray[np.intp], tuple[Column, ...]]:
    places = [index for index, column in enumerate(layout.columns) if column.metric.name in metrics]
    return np.array(places, np.intp), tuple(layout.columns[index] for index in places)


def _picked(recent: Iterable[tuple[Layout, RowGroup]], metrics: set[str]) -> Iterator[_Piece]:
    for layout, group in recent:
        places, columns = _places(layout, metrics)
        yield _Piece(columns, replace(group, values=group.values[:, places], valid=group.valid[:, places]))


def _inside(piece: _Piece, start_ns: int, end_ns: int) -> _Piece | None:
    group = piece.group
    rows = np.flatnonzero((group.corrected_ns >= start_ns) & (group.corrected_ns < end_ns))
    if not len(rows) or not piece.columns:
        return None
    if len(rows) == len(group.sequences):
        return piece
    cut = replace(
        group,
        sequences=group.sequences[rows],
        agent_ns=group.agent_ns[rows],
        corrected_ns=group.corrected_ns[rows],
        values=group.values[rows],
        valid=group.valid[rows],
    )
    return _Piece(piece.columns, cut)


def _bounded(pieces: Iterable[_Piece]) -> list[_Piece]:
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
    """One rising axis, and where each piece's rows are on it. A row that came twice (stored, recent) is one point."""
    corrected = np.concatenate([piece.group.corrected_ns for piece in pieces])
    agent = np.concatenate([piece.group.agent_ns for piece in pieces])
    sequences = np.concatenate([piece.group.sequences for piece in pieces])
    _, first, same = np.unique(np.stack([agent, sequences]), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(corrected[first], kind="stable")
    place_of = np.empty(len(order), np.intp)
    place_of[order] = np.arange(len(order))
    ends = np.cumsum([len(piece.group.sequences) for piece in pieces])
    return corrected[first][order], np.split(place_of[same.reshape(-1)], ends[:-1])


def _spread(series: MinuteSeries, axis: Times) -> Line:
    places = np.searchsorted(axis, series.times_ns)

    def put(values: NDArray[np.float64]) -> Floats:
        line = np.full(len(axis), np.nan)
        line[places] = values
        return line

    counts = np.zeros(len(axis), np.int64)
    counts[places] = series.counts
    return Line(series.column, put(series.mean), put(series.minimum), put(series.maximum), counts)
