"""Things that change seldom or cost much: read each n-th time, repeated in between."""

from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class EveryNth(Generic[Answer]):
    """Asks at the first and then at each `every`-th reading."""

    __slots__ = ("_answer", "_ask", "_countdown", "_every")

    def __init__(self, ask: Callable[[], Answer], every: int) -> None:
        self._ask = ask
        self._every = every
        self._countdown = 1
        self._answer: Answer

    def value(self) -> Answer:
        """The newest answer; what `ask` raises is raised, and it is asked again next time."""
        self._countdown -= 1
        if self._countdown <= 0:
            self._countdown = 1
            self._answer = self._ask()
            self._countdown = self._every
        return self._answer
