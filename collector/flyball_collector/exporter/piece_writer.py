"""Writes pages in pieces of some thousand lines. An unchanged piece is neither written nor deflated again."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import compress
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from flyball_collector.exporter.compression import CachedPiece

ROWS = 4096
"""Series in a piece: about 0.5 ms of work."""

_encode = msgspec.json.Encoder().encode  # writes a float ten times as fast as repr(), and as short


class _Written(NamedTuple):
    text: bytes
    lines: int


class _Kept(NamedTuple):
    """The source of a piece, and its text if the source was the same twice, because most readings change."""

    source: tuple[object, ...]
    written: _Written | None = None


class PieceWriter:
    """Writes families, and remembers the pieces of the newest rendering. `series` counts its lines."""

    def __init__(self) -> None:
        self.series = 0
        self._before: dict[Hashable, _Kept] = {}
        self._kept: dict[Hashable, _Kept] = {}

    def begin(self) -> None:
        """Begin a rendering. Pieces that were not in the previous one are forgotten."""
        self.series = 0
        self._before, self._kept = self._kept, {}

    def family(
        self,
        name: Hashable,
        head: bytes,
        prefixes: Sequence[bytes],
        values: NDArray[np.float64],
        positions: NDArray[np.int64] | None = None,
        minimum: float = -np.inf,
    ) -> Iterator[bytes]:
        """Yield lines of the known values. A family without known values has no header. `name` must be unique."""
        for first in range(0, len(prefixes), ROWS):
            rows = prefixes[first : first + ROWS]
            part = values[first : first + ROWS] if positions is None else values[positions[first : first + ROWS]]
            source = head, minimum, part.tobytes(), rows  # compared as bytes: NaN equals NaN, and 0 differs from -0
            written = self._written((name, first), source, partial(_lines, head, rows, part, minimum))
            if written.lines:
                self.series += written.lines
                yield written.text
                head = b""

    def lines(self, name: Hashable, head: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
        """Yield lines that already contain their values."""
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
        written = kept.written or _cached(write())
        self._kept[key] = _Kept(source, written)
        return written


def _cached(written: _Written) -> _Written:
    return _Written(CachedPiece(written.text), written.lines)


def _joined(head: bytes, lines: Sequence[bytes]) -> _Written:
    return _Written(head + b"".join(lines), len(lines))


def _lines(head: bytes, prefixes: Sequence[bytes], values: NDArray[np.float64], minimum: float) -> _Written:
    """Return the lines of known values."""
    known = values >= minimum  # False for NaN, which is unknown
    if not known.all():
        prefixes = list(compress(prefixes, known.tolist()))
        values = values[known]
    if not len(values):
        return _Written(b"", 0)
    pieces: list[bytes] = [b""] * (2 * len(values))
    pieces[0::2] = prefixes
    pieces[1::2] = _encode(values.tolist())[1:-1].split(b",")
    return _Written(head + b"".join(pieces), len(values))
