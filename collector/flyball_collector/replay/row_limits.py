"""Limits on the rows that one replay holds in memory. A capsule may come from anyone, and a store may be huge."""

from collections.abc import Mapping

from flyball_collector.replay.errors import ReplayError

MAX_READINGS = 50_000_000
"""Rows × columns: 450 MB during the replay."""
MAX_ROWS = 500_000
"""Each row takes about a kilobyte, without its readings."""
MAX_GROUPS = 20_000
"""Each group takes about three kilobytes. A minute of a host has one for each layout."""
MAX_EXTRA_BYTES = 128 * 1024 * 1024
"""Steps, events and GPU processes of all rows, in their serialised form."""
MAX_ROW_EXTRA_BYTES = 4 * 1024 * 1024
"""The same of one row, which is parsed at once: the largest message that the collector accepts by default."""

_REMEDY = "choose a shorter time or fewer hosts"


class RowLimits:
    """Counts rows and raises `ReplayError` beyond a limit, before memory is used for them."""

    def __init__(self, place: str = "") -> None:
        self._place = f"{place}: " if place else ""
        self._readings = self._rows = self._groups = self._extra_bytes = 0

    def admit(self, rows: int, columns: int) -> None:
        """Count a group of rows that is about to be decoded."""
        self._groups += 1
        self._rows += rows
        self._readings += rows * columns
        self._check(self._readings, MAX_READINGS, "readings")
        self._check(self._rows, MAX_ROWS, "rows")
        self._check(self._groups, MAX_GROUPS, "groups of rows")

    def admit_extras(self, extras: Mapping[int, bytes]) -> None:
        """Count the steps, events and processes of a group."""
        sizes = [len(each) for each in extras.values()]
        self._extra_bytes += sum(sizes)
        self._check(self._extra_bytes, MAX_EXTRA_BYTES, "bytes of steps, events and processes")
        self._check(max(sizes, default=0), MAX_ROW_EXTRA_BYTES, "bytes of steps, events and processes in one row")

    def _check(self, count: int, limit: int, what: str) -> None:
        if count > limit:
            raise ReplayError(f"{self._place}more than {limit:,} {what}; {_REMEDY}")
