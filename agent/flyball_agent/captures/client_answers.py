"""Waits for what processes answer to orders: each order accepts one answer, from its own process."""

import asyncio
from dataclasses import dataclass

from flyball_agent.captures.order import CaptureFailed


@dataclass(frozen=True, slots=True)
class ClientResult:
    """A result of a client: an open file, which the receiver closes, and its description."""

    descriptor: int
    file_name: str
    detail: str


class ClientAnswers:
    """Runs on the event loop."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[int, asyncio.Future[ClientResult]]] = {}

    def expect(self, capture: str, pid: int) -> "asyncio.Future[ClientResult]":
        """Return the future of an answer from this process."""
        answer: asyncio.Future[ClientResult] = asyncio.get_running_loop().create_future()
        self._pending[capture] = (pid, answer)
        answer.add_done_callback(lambda _: self._pending.pop(capture, None))
        return answer

    def is_expected(self, capture: str, pid: int) -> bool:
        """Return True if this process has not answered this order yet."""
        return self._pending.get(capture, (0, None))[0] == pid and pid > 0

    def deliver(self, capture: str, pid: int, result: ClientResult) -> bool:
        """Take a result. Return False if nobody waits for it from this process; then the caller closes its file."""
        if not self.is_expected(capture, pid):
            return False
        answer = self._pending[capture][1]
        if answer.done():
            return False
        answer.set_result(result)
        return True

    def fail(self, capture: str, pid: int, reason: str) -> None:
        """Take the reason why a process cannot do what was ordered."""
        if self.is_expected(capture, pid) and not (answer := self._pending[capture][1]).done():
            answer.set_exception(CaptureFailed(reason))

    def fail_all_of(self, pid: int, reason: str) -> None:
        """Fail the orders of a process that has left."""
        for capture in [capture for capture, (of, _) in self._pending.items() if of == pid]:
            self.fail(capture, pid, reason)
