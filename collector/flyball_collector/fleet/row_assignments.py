"""Assigns rows of the window to hosts. A host's rows follow its layout; a new layout gets new rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.row_allocator import RowAllocator
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column
from flyball_proto.metric import Kind

Places = NDArray[np.int64]

MAX_ROWS_OF_A_HOST = 1024


@dataclass(slots=True)
class AssignedRows:
    """The rows of a host."""

    layout: KnownLayout
    first: int
    columns: tuple[Column, ...]
    offsets: Places  # positions of the columns in the layout
    counters: NDArray[np.bool_]
    slices: dict[str, slice]  # metric → its rows, relative to `first`

    @property
    def rows(self) -> slice:
        """Return the rows as a slice."""
        return slice(self.first, self.first + len(self.columns))


class RowAssignments:
    """The rows of each host, and the rows that are free."""

    def __init__(self, metrics: Sequence[str], max_rows: int) -> None:
        self.allocator = RowAllocator(max_rows)
        self._metrics = tuple(metrics)
        self._rows: dict[str, AssignedRows] = {}
        self._left_out: set[str] = set()  # hosts that did not fit, until another one leaves

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def get(self, host: str) -> AssignedRows | None:
        """Return the rows of a host, or `None`."""
        return self._rows.get(host)

    def is_current(self, state: HostState) -> bool:
        """Return True if a host's rows match its current layout."""
        rows = self._rows.get(state.name)
        return rows is not None and state.layout is not None and rows.layout.digest == state.layout.digest

    def needs_rows(self, state: HostState) -> bool:
        """Return True if a host should get rows."""
        return not self.is_current(state) and state.layout is not None and state.name not in self._left_out

    def new_rows(self, layout: KnownLayout, first: int, offsets: Sequence[int]) -> AssignedRows:
        """Return rows for a layout, beginning with `first`."""
        columns = tuple(layout.layout.columns[offset] for offset in offsets)
        counters = np.array([column.metric.kind is Kind.COUNTER for column in columns], dtype=np.bool_)
        return AssignedRows(layout, first, columns, np.array(offsets, dtype=np.int64), counters, _slices(columns))

    def assign(self, host: str, rows: AssignedRows) -> None:
        """Assign rows to a host."""
        self._rows[host] = rows

    def leave_out(self, host: str) -> None:
        """Note that a host does not fit."""
        self._left_out.add(host)

    def release(self, host: str) -> None:
        """Release the rows of a host. They are reused after `reclaim`."""
        rows = self._rows.pop(host)
        self.allocator.release(rows.first, len(rows.columns))

    def reclaim(self) -> None:
        """Make released rows available."""
        if self.allocator.reclaim():
            self._left_out.clear()

    def window_columns(self, layout: KnownLayout) -> list[int]:
        """Return the positions of a layout's window metrics, metric by metric."""
        places = layout.layout.places
        return [place for name in self._metrics for place in places.get(name, ())][:MAX_ROWS_OF_A_HOST]

    def compact(self) -> Places:
        """Close the gaps between rows. Return the old positions of the rows in their new order."""
        order = [np.empty(0, dtype=np.int64)]
        used = 0
        for rows in self._rows.values():
            order.append(np.arange(rows.first, rows.first + len(rows.columns)))
            rows.first, used = used, used + len(rows.columns)
        self.allocator.compacted()
        return np.concatenate(order)


def matching(columns: Sequence[Column], others: Sequence[Column]) -> tuple[Places, Places]:
    """Return the positions of equal columns in both: same metric, kind and labels."""
    there = {(other.metric.name, other.metric.kind, other.label_pairs()): n for n, other in enumerate(others)}
    pairs = [
        (number, match)
        for number, column in enumerate(columns)
        if (match := there.get((column.metric.name, column.metric.kind, column.label_pairs()))) is not None
    ]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _slices(columns: Sequence[Column]) -> dict[str, slice]:
    """Return the rows of each metric; its columns are adjacent."""
    slices: dict[str, slice] = {}
    first = 0
    for name, same in groupby(columns, key=lambda column: column.metric.name):
        following = first + len(list(same))
        slices[name], first = slice(first, following), following
    return slices
