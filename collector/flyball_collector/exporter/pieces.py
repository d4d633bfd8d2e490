"""Pieces of a page, some thousand lines each: what says the same as last time is not written and deflated again."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import compress
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from flyball_collector.exporter.compression import Lasting

ROWS = 4096
"""Series a piece: about 0.5 ms of work."""

_encode = msgspec.json.Encoder().encode  # writes a float ten times as fast as repr(), and as short


class _Written(NamedTuple):
    text: bytes
    lines: int


class _Kept(NamedTuple):
    """What a piece was made of; its text only where that was the same twice, for most readings move."""

    source: tuple[object, ...]
    written: _Written | None = None


class Pieces:
    """Writes families, and remembers what the newest rendering was made of. `series` counts its lines."""

    def __init__(self) -> None:
        self.series = 0
        self._before: dict[Hashable, _Kept] = {}
        self._kept: dict[Hashable, _Kept] = {}

    def begin(self) -> None:
        """Begin a rendering; what was not in the one before is forgotten."""
        self.series = 0
        self._before, self._kept = self._kept, {}

    def family(
        self,
        name: Hashable,
        head: bytes,
        prefixes: Sequence[bytes],
        values: NDArray[np.float64],
        places: NDArray[np.int64] | None = None,
        least: float = -np.inf,
    ) -> Iterator[bytes]:
        """Lines of what is known; a family of which nothing is known is not named either. `name` is no other's."""
        for first in range(0, len(prefixes), ROWS):
            rows = prefixes[first : first + ROWS]
            part = values[first : first + ROWS] if places is None else values[places[first : first + ROWS]]
            source = head, least, part.tobytes(), rows  # as bytes, unknown is unknown, and 0 is not -0
            written = self._written((name, first), source, partial(_lines, head, rows, part, least))
            if written.lines:
                self.series += written.lines
                yield written.text
                head = b""

    def whole(self, name: Hashable, head: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
        """Lines that have their values already."""
        for first in range(0, len(lines), ROWS):
            rows = lines[first : first + ROWS]
            written = self._written((name, first), (head, rows), partial(_joined, head, rows))
            self.series += written.lines
            yield written.text
            head = b""

    def _written(self, key: Hashable, source: tuple[object, ...], write: Callable[[], _Written]) -> _Written:
        kept = self._before.get(key)
        if kept is None or kept.source != source:
            self._kept[key] = _Kept(source)
            return write()
        written = kept.written or _lasting(write())
        self._kept[key] = _Kept(source, written)
        return written


def _lasting(written: _Written) -> _Written:
    return _Written(Lasting(written.text), written.lines)


def _joined(head: bytes, lines: Sequence[bytes]) -> _Written:
    return _Written(head + b"".join(lines), len(lines))


def _lines(head: bytes, prefixes: Sequence[bytes], values: NDArray[np.float64], least: float) -> _Written:
    """Lines of the values that are known."""
    known = values >= least  # false for NaN, which is unknown
    if not known.all():
        prefixes = list(compress(prefixes, known.tolist()))
        values = values[known]
    if not len(values):
        return _Written(b"", 0)
    pieces: list[bytes] = [b""] * (2 * len(values))
    pieces[0::2] = prefixes
    pieces[1::2] = _encode(values.tolist())[1:-1].split(b",")
    return _Written(head + b"".join(pieces), len(values))
