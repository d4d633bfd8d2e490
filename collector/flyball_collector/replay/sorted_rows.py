"""Sorts any number of rows by time. Rows beyond one piece are kept in a temporary file."""

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import IO

import msgspec

from flyball_collector.replay.csv_rows import CsvRow
from flyball_collector.replay.errors import ReplayError

PIECE_ROWS = 65_536
"""About 30 MB while they are sorted."""

BLOCK_ROWS = 256
"""Rows of each piece that are in memory while pieces are merged."""

_by_time = attrgetter("seconds")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[CsvRow])

Block = tuple[int, int]
"""The position in the file, and the length."""


class SortedRows:
    """Iterates over all rows, repeatedly if needed. Rows of one instant keep their order."""

    def __init__(self, rows: Iterable[CsvRow], piece_rows: int = PIECE_ROWS) -> None:
        """Read all rows. Raises the errors of reading, and `ReplayError` if the disk is full."""
        self._file: IO[bytes] | None = None
        self._pieces: list[list[Block]] = []
        self._last: list[CsvRow] = []
        source = iter(rows)
        while piece := list(islice(source, piece_rows)):
            self._write_piece()
            piece.sort(key=_by_time)
            self._last = piece

    def __iter__(self) -> Iterator[CsvRow]:
        if not self._pieces:
            return iter(self._last)
        return merge(*map(self._read, self._pieces), self._last, key=_by_time)

    def __bool__(self) -> bool:
        return bool(self._last)

    def _write_piece(self) -> None:
        """Write the previous piece, block by block."""
        if not self._last:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="flyball-replay-")  # noqa: SIM115  closed with this object
                weakref.finalize(self, self._file.close)
            self._pieces.append(
                [self._write(self._last[first : first + BLOCK_ROWS]) for first in range(0, len(self._last), BLOCK_ROWS)]
            )
        except OSError as error:
            where = tempfile.gettempdir()
            raise ReplayError(
                f"cannot write temporary rows to {where}: {error.strerror or error}; set TMPDIR to another disk"
            ) from None

    def _write(self, rows: list[CsvRow]) -> Block:
        assert self._file is not None  # noqa: S101  opened before
        body = _encoder.encode(rows)
        return self._file.tell(), self._file.write(body)

    def _read(self, blocks: list[Block]) -> Iterator[CsvRow]:
        assert self._file is not None  # noqa: S101  there are pieces
        for place, length in blocks:
            self._file.seek(place)
            yield from _decoder.decode(self._file.read(length))
