"""Seating: which rows of the window are whose. A host sits by its layout, and gets other rows for another one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.room import Room
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column
from flyball_proto.metric import Kind

Places = NDArray[np.int64]

MAX_ROWS_OF_A_HOST = 1024


@dataclass(slots=True)
class Seat:
    """Where a host's rows are."""

    layout: KnownLayout
    first: int
    columns: tuple[Column, ...]
    offsets: Places  # of the columns in the layout
    counters: NDArray[np.bool_]
    slices: dict[str, slice]  # metric → its rows, counted from `first`

    @property
    def rows(self) -> slice:
        """Its rows."""
        return slice(self.first, self.first + len(self.columns))


class Seating:
    """The seats by host, and the room that is left."""

    def __init__(self, metrics: Sequence[str], max_rows: int) -> None:
        self.room = Room(max_rows)
        self._metrics = tuple(metrics)
        self._seats: dict[str, Seat] = {}
        self._left_out: set[str] = set()  # there is no room for these until somebody leaves

    def __iter__(self) -> Iterator[str]:
        return iter(self._seats)

    def of(self, host: str) -> Seat | None:
        """The seat of a host, if it has one."""
        return self._seats.get(host)

    def sits(self, state: HostState) -> bool:
        """Whether a host sits by the layout that it has now."""
        seat = self._seats.get(state.name)
        return seat is not None and state.layout is not None and seat.layout.digest == state.layout.digest

    def waits(self, state: HostState) -> bool:
        """Whether a host should be given rows."""
        return not self.sits(state) and state.layout is not None and state.name not in self._left_out

    def offer(self, layout: KnownLayout, first: int, offsets: Sequence[int]) -> Seat:
        """The seat for a layout, rows from `first` on."""
        columns = tuple(layout.layout.columns[offset] for offset in offsets)
        counters = np.array([column.metric.kind is Kind.COUNTER for column in columns], dtype=np.bool_)
        return Seat(layout, first, columns, np.array(offsets, dtype=np.int64), counters, _slices(columns))

    def take(self, host: str, seat: Seat) -> None:
        """A host sits here."""
        self._seats[host] = seat

    def leave_out(self, host: str) -> None:
        """There is no room for it."""
        self._left_out.add(host)

    def stand_up(self, host: str) -> None:
        """The rows of a host are nobody's any more, as soon as the room is cleared."""
        seat = self._seats.pop(host)
        self.room.leave(seat.first, len(seat.columns))

    def clear(self) -> None:
        """Give away again what was left."""
        if self.room.clear():
            self._left_out.clear()

    def chosen(self, layout: KnownLayout) -> list[int]:
        """The windowed columns of a layout, metric by metric."""
        places = layout.layout.places
        return [place for name in self._metrics for place in places.get(name, ())][:MAX_ROWS_OF_A_HOST]

    def close_up(self) -> Places:
        """Close the gaps between seats; returns where the rows were that follow each other now."""
        order = [np.empty(0, dtype=np.int64)]
        used = 0
        for seat in self._seats.values():
            order.append(np.arange(seat.first, seat.first + len(seat.columns)))
            seat.first, used = used, used + len(seat.columns)
        self.room.packed()
        return np.concatenate(order)


def matching(columns: Sequence[Column], others: Sequence[Column]) -> tuple[Places, Places]:
    """Positions of equal columns here and there: same metric, same kind, same labels."""
    there = {(other.metric.name, other.metric.kind, other.label_pairs()): n for n, other in enumerate(others)}
    pairs = [
        (number, match)
        for number, column in enumerate(columns)
        if (match := there.get((column.metric.name, column.metric.kind, column.label_pairs()))) is not None
    ]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _slices(columns: Sequence[Column]) -> dict[str, slice]:
    """Where each metric's columns are; they stand together."""
    slices: dict[str, slice] = {}
    first = 0
    for name, same in groupby(columns, key=lambda column: column.metric.name):
        following = first + len(list(same))
        slices[name], first = slice(first, following), following
    return slices
