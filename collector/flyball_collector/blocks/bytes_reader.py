"""Reading a string of bytes from front to back, with every length checked."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from flyball_collector.blocks.errors import BlockError


class BytesReader:
    """A place in a string of bytes; reading moves it on."""

    __slots__ = ("_data", "_place")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def array(self, dtype: DTypeLike, count: int) -> NDArray[Any]:
        """The next `count` numbers, read-only."""
        size = np.dtype(dtype).itemsize * count
        self._check(size)
        result = np.frombuffer(self._data, dtype, count, self._place)
        self._place += size
        return result

    def bytes(self, size: int) -> bytes:
        self._check(size)
        result = self._data[self._place : self._place + size]
        self._place += size
        return result

    def _check(self, size: int) -> None:
        if size < 0 or size > self.left:
            raise BlockError(
                f"encoded block: {size} bytes wanted at byte {self._place}, {self.left} are left: it is cut off"
            )
