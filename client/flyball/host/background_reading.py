"""A reading that may hang in a driver, in a thread of its own with a time limit."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class ReadingTimedOut(Exception):
    """The reading did not end within its time limit."""


class BackgroundReading(Generic[Result]):
    """Starts a reading at once. Its thread is never joined for longer than the limit, because a driver may hang."""

    def __init__(self, read: Callable[[], Result]) -> None:
        self._result: list[Result] = []
        self._error: BaseException | None = None
        self._read = read
        self._thread = threading.Thread(target=self._run, name="flyball-host-reading", daemon=True)
        self._thread.start()

    def result(self, seconds: float) -> Result:
        """Return the result. Raise what the reading raised, or ReadingTimedOut."""
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        if not self._result:
            raise ReadingTimedOut(f"no answer within {seconds:g} s")
        return self._result[0]

    def _run(self) -> None:
        try:
            self._result.append(self._read())
        except BaseException as error:  # noqa: BLE001  raised again by `result`
            self._error = error
