"""Values that change rarely or are expensive to read: read every n-th time and repeated until then."""

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class PeriodicReading(Generic[Value]):
    """Calls `read` at the first and then at every `every`-th access.

    It does not keep `read`: a reading that its owner's method makes would be a reference cycle, and the owner's files
    would stay open until the next full garbage collection.
    """

    __slots__ = ("_countdown", "_every", "_value")

    def __init__(self, every: int) -> None:
        self._every = every
        self._countdown = 1
        self._value: Value

    def value(self, read: Callable[[], Value]) -> Value:
        """Return the newest value. After an exception of `read`, the next access calls it again."""
        self._countdown -= 1
        if self._countdown <= 0:
            self._countdown = 1
            self._value = read()
            self._countdown = self._every
        return self._value
