"""Sums what a process tree has consumed, including processes that have ended, each exactly once.

When a process waits for a child that has ended, the kernel adds the child's sums to those of the process. So the sum
over the living processes is right as long as somebody in the tree waits. A process that has disappeared is owed: its
last sums count until those of its living ancestors have grown by as much. If that does not happen by the next update,
nobody waited for it (it was orphaned, or its parent ignores SIGCHLD), and its sums are kept for good.
"""

from collections.abc import Callable, Iterable, Iterator

from flyball.profiling.process_reading import NOTHING, ConsumedResources, ProcessKey, ProcessReading

Readings = dict[ProcessKey, ProcessReading]

READER: ProcessKey = (0, 0)
"""The process that reads: it waits for the root of a command itself, and is not a member of the tree."""


class TreeLedger:
    """The account of one tree. `reader` is the id of the process that waits for members and reports what they used."""

    def __init__(self, reader: int | None = None) -> None:
        self._reader = reader
        self._last: Readings = {}
        self._before: Readings = {}
        self._waited = NOTHING
        self._owed: dict[ProcessKey, ConsumedResources] = {}
        self._matched: dict[ProcessKey, ConsumedResources] = {}
        self._kept = NOTHING
        self._total = NOTHING

    def update(self, readings: Iterable[ProcessReading], waited: ConsumedResources = NOTHING) -> ConsumedResources:
        """Return the sums of the tree. `waited` is what the reader's own children had used, since the last update."""
        now = {reading.key: reading for reading in readings}
        missing = self._missing(now)
        self._kept = self._kept.plus(waited)
        growth = (
            _Growth(self._reader, now, lambda key: self._available(key, now, waited)) if self._owed or missing else None
        )
        owed: dict[ProcessKey, ConsumedResources] = {}
        if growth is not None:
            for key, debt in self._owed.items():
                self._kept = self._kept.plus(growth.pay(key, debt))
            owed = {key: rest for key, debt in missing.items() if any(rest := growth.pay(key, debt))}
        self._before, self._last, self._waited = self._last, now, waited
        self._owed, self._matched = owed, growth.paid if growth is not None else {}
        # A child that ended during the reading may count twice for one update: the total never falls.
        self._total = self._total.larger(self._sum(now))
        return self._total

    def _sum(self, now: Readings) -> ConsumedResources:
        parts = [self._kept, *self._owed.values(), *(reading.consumed for reading in now.values())]
        return ConsumedResources(*map(sum, zip(*parts, strict=True)))

    def _available(self, key: ProcessKey, now: Readings, waited: ConsumedResources) -> ConsumedResources:
        """Return the gain of this update, and that of the last one for which no ended process accounts yet."""
        gain = waited if key == READER else _gain(self._last, now, key)
        before = self._waited if key == READER else _gain(self._before, self._last, key)
        return gain.plus(before.minus(self._matched.get(key, NOTHING)))

    def _missing(self, now: Readings) -> dict[ProcessKey, ConsumedResources]:
        """Return the last sums of processes that have ended, by the ancestor that inherits them."""
        ended = self._last.keys() - now.keys()
        if not ended:
            return {}
        keys = {reading.pid: key for key, reading in self._last.items()}
        missing: dict[ProcessKey, ConsumedResources] = {}
        for key in ended:
            lost = self._last[key].consumed.plus(self._owed.pop(key, NOTHING))
            heir = self._heir(self._last[key], keys, now)
            if heir is None:
                self._kept = self._kept.plus(lost)
            else:
                missing[heir] = missing.get(heir, NOTHING).plus(lost)
        return missing

    def _heir(self, reading: ProcessReading, keys: dict[int, ProcessKey], now: Readings) -> ProcessKey | None:
        """Return the nearest ancestor that is alive; None outside of the tree."""
        for _ in range(len(keys) + 1):
            if reading.parent == self._reader:
                return READER
            key = keys.get(reading.parent)
            if key is None or key in now:
                return key
            reading = self._last[key]
        return None


class _Growth:
    """The growth of the living processes, with which the debts of those that have ended are paid."""

    def __init__(self, reader: int | None, now: Readings, available: Callable[[ProcessKey], ConsumedResources]) -> None:
        self.paid: dict[ProcessKey, ConsumedResources] = {}
        self._reader, self._now, self._available = reader, now, available
        self._keys = {reading.pid: key for key, reading in now.items()}
        self._left: dict[ProcessKey, ConsumedResources] = {}

    def pay(self, key: ProcessKey, debt: ConsumedResources) -> ConsumedResources:
        """Pay a debt with the growth of a process and its ancestors, and return the rest.

        An ancestor may have adopted the process before it ended.
        """
        for ancestor in self._line(key):
            left = self._left.get(ancestor)
            if left is None:
                left = self._available(ancestor)
            part = debt.smaller(left)
            debt = debt.minus(part)
            self._left[ancestor] = left.minus(part)
            self.paid[ancestor] = self.paid.get(ancestor, NOTHING).plus(part)
            if not any(debt):
                break
        return debt

    def _line(self, key: ProcessKey | None) -> Iterator[ProcessKey]:
        """Yield a process and its ancestors in the tree."""
        for _ in range(len(self._now) + 2):
            if key is None:
                return
            yield key
            if key not in self._now:  # the reader, or a process that has ended
                return
            parent = self._now[key].parent
            key = READER if parent == self._reader else self._keys.get(parent)


def _gain(before: Readings, after: Readings, key: ProcessKey) -> ConsumedResources:
    """Return how much the sums of a process have grown in which children appear that it waited for."""
    if key not in before or key not in after:
        return NOTHING
    return after[key].transferred.minus(before[key].transferred)
