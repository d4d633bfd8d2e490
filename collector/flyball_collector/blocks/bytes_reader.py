"""Reads bytes from front to back and checks every length."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from flyball_collector.blocks.errors import BlockError


class BytesReader:
    """A position in a string of bytes. Reading advances it."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._position

    def array(self, dtype: DTypeLike, count: int) -> NDArray[Any]:
        """Read the next `count` numbers, as a read-only array."""
        size = np.dtype(dtype).itemsize * count
        self._check(size)
        result = np.frombuffer(self._data, dtype, count, self._position)
        self._position += size
        return result

    def bytes(self, size: int) -> bytes:
        self._check(size)
        result = self._data[self._position : self._position + size]
        self._position += size
        return result

    def _check(self, size: int) -> None:
        if size < 0 or size > self.left:
            raise BlockError(
                f"encoded block is truncated: expected {size} bytes at byte {self._position}, only {self.left} are left"
            )
