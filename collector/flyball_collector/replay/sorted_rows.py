"""Rows in rising time, however many there are: what is more than one piece waits in a temporary file."""

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import IO

import msgspec

from flyball_collector.replay.csv_rows import Row
from flyball_collector.replay.errors import ReplayError

PIECE_ROWS = 65_536
"""Some 30 MB while they are sorted."""

BLOCK_ROWS = 256
"""Of each piece so many are in memory while pieces are merged."""

_by_time = attrgetter("seconds")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Row])

Block = tuple[int, int]
"""Where it lies in the file, and its length."""


class SortedRows:
    """Goes through all rows as often as is asked; those of one instant stay in the order they came in."""

    def __init__(self, rows: Iterable[Row], piece_rows: int = PIECE_ROWS) -> None:
        """Takes all of them; raises what reading them raises, and `ReplayError` where there is no room on the disk."""
        self._file: IO[bytes] | None = None
        self._pieces: list[list[Block]] = []
        self._last: list[Row] = []
        source = iter(rows)
        while piece := list(islice(source, piece_rows)):
            self._put_aside()
            piece.sort(key=_by_time)
            self._last = piece

    def __iter__(self) -> Iterator[Row]:
        if not self._pieces:
            return iter(self._last)
        return merge(*map(self._read, self._pieces), self._last, key=_by_time)

    def __bool__(self) -> bool:
        return bool(self._last)

    def _put_aside(self) -> None:
        """Write the piece before, block by block."""
        if not self._last:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="flyball-replay-")  # noqa: SIM115  it lives as long as we do
                weakref.finalize(self, self._file.close)
            self._pieces.append(
                [self._write(self._last[first : first + BLOCK_ROWS]) for first in range(0, len(self._last), BLOCK_ROWS)]
            )
        except OSError as error:
            where = tempfile.gettempdir()
            raise ReplayError(
                f"{where}: rows cannot be put aside here: {error.strerror or error}; set TMPDIR to a disk with room"
            ) from None

    def _write(self, rows: list[Row]) -> Block:
        assert self._file is not None  # noqa: S101  opened before
        body = _encoder.encode(rows)
        return self._file.tell(), self._file.write(body)

    def _read(self, blocks: list[Block]) -> Iterator[Row]:
        assert self._file is not None  # noqa: S101  there are pieces
        for place, length in blocks:
            self._file.seek(place)
            yield from _decoder.decode(self._file.read(length))
