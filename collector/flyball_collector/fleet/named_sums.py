"""Sums by rank and name: of sections, of services, of levels. Many are added at once."""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.rings import wider

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

MAX_ENTRIES = 262_144
"""Pairs of rank and name. Names come from trainings, and a sender can make up any number of them."""

MAX_NAME_LENGTH = 200
"""Agents cut names at 60 characters."""

_FIRST_ROOM = 64
_NO_NAMES: Mapping[str, int] = {}


class Named(NamedTuple):
    """The sums under one name."""

    overall: list[float]
    recent: list[float]  # since the older of the last two marks


class NamedSums:
    """One entry for each row and name, with a fixed number of amounts. Entries are made when a name first occurs."""

    def __init__(self, amounts: int, max_names: int, max_entries: int = MAX_ENTRIES) -> None:
        """`max_names` limits the names of one row, `max_entries` those of all rows together."""
        self._amounts = amounts
        self._max_names = max_names
        self._max_entries = max_entries
        self._places: dict[int, dict[str, int]] = {}  # by row
        self._free: list[int] = []
        self._row_of: Rows = np.zeros(0, dtype=np.int64)  # −1: the entry is free
        self._sums: Floats = np.zeros((0, amounts))
        self._newer, self._older = self._sums, self._sums
        self._waiting_places: list[int] = []
        self._waiting: list[float] = []

    def __len__(self) -> int:
        return len(self._row_of) - len(self._free)

    def add(self, row: int, names: Sequence[str], amounts: Sequence[float]) -> int:
        """Add the amounts of each name, one name after the other. They count after `settle`.

        Return the number of names that did not fit.
        """
        places = self._places.get(row)
        if places is None:
            places = self._places[row] = {}
        try:
            found = list(map(places.__getitem__, names))
        except KeyError:  # a new name
            return self._add_new(row, names, amounts)
        self._waiting_places += found
        self._waiting += amounts
        return 0

    def _add_new(self, row: int, names: Sequence[str], amounts: Sequence[float]) -> int:
        places, refused = self._places[row], 0
        for number, name in enumerate(names):
            place = places[name] if name in places else self._new_entry(row, places, name)
            if place < 0:
                refused += 1
            else:
                self._waiting_places.append(place)
                self._waiting += amounts[number * self._amounts : (number + 1) * self._amounts]
        return refused

    def settle(self) -> None:
        """Write the waiting amounts. What a counter cannot add counts as 0."""
        if self._waiting_places:
            amounts = np.array(self._waiting, dtype=np.float64).reshape(-1, self._amounts)
            amounts[~(amounts >= 0) | np.isinf(amounts)] = 0.0
            np.add.at(self._sums, np.array(self._waiting_places), amounts)
            self._waiting_places, self._waiting = [], []

    def mark(self, rows: Flags) -> None:
        """Set a mark for some rows. `recent` begins at the mark before the newest one."""
        self.settle()
        of = (self._row_of >= 0) & rows[self._row_of]
        self._older[of] = self._newer[of]
        self._newer[of] = self._sums[of]

    def of(self, rows: Sequence[int]) -> list[dict[str, Named]]:
        """Return the sums of some rows by name."""
        self.settle()
        names = [self._places.get(row, _NO_NAMES) for row in rows]
        at = [place for places in names for place in places.values()]
        if not at:
            return [{} for _ in names]
        overall = self._sums[at]
        named = map(Named, overall.tolist(), (overall - self._older[at]).tolist())
        return [dict(zip(places, named)) for places in names]  # noqa: B905  each takes as many as it has names

    def clear(self, row: int) -> None:
        """Clear a row for another rank."""
        self.settle()
        freed = list(self._places.pop(row, {}).values())
        self._row_of[freed] = -1
        self._free += freed

    def _new_entry(self, row: int, places: dict[str, int], name: str) -> int:
        """Return the place of a new entry, or −1 if there are too many or its name is too long."""
        if len(places) >= self._max_names or len(name) > MAX_NAME_LENGTH:
            return -1
        if not self._free:
            used = len(self._row_of)
            room = min(self._max_entries, max(_FIRST_ROOM, 2 * used))
            if used >= room:
                return -1
            self._grow(used, room)
        place = self._free.pop()
        for array in (self._sums, self._newer, self._older):
            array[place] = 0.0
        self._row_of[place] = row
        places[sys.intern(name)] = place  # the ranks of a run share names
        return place

    def _grow(self, used: int, room: int) -> None:
        self._free += range(room - 1, used - 1, -1)
        self._row_of = wider(self._row_of, room)
        self._row_of[used:] = -1
        self._sums, self._newer, self._older = (wider(array, room) for array in (self._sums, self._newer, self._older))
