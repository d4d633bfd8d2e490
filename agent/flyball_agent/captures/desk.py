"""Carries out the collector's orders: a few at a time, each within its time limit, each with an answer."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import structlog

from flyball_agent.captures.client_answers import ClientAnswers, ClientResult
from flyball_agent.captures.order import STACKS, CaptureFailed, CheckedOrder, is_valid_id, order_of
from flyball_agent.captures.result_socket import close_result
from flyball_agent.captures.results import CaptureResults, ResultNote
from flyball_agent.captures.stacks import capture_stacks
from flyball_agent.runs.registry import SocketPeer
from flyball_proto.v1 import telemetry_pb2 as pb

_log = structlog.get_logger(__name__)

MAX_ORDERS = 64
_THREADS = 4
"""They may wait for a process that hangs in the kernel, so they are not those of the spool."""
_STATES = {"running": pb.Captured.RUNNING, "failed": pb.Captured.FAILED}


@dataclass(frozen=True, slots=True)
class KnownProcess:
    """A process that the agent knows to belong to a run."""

    run: str
    has_client: bool


class Processes(Protocol):
    """Finds processes and talks to their clients."""

    def find(self, pid: int) -> KnownProcess | None:
        """Return a process that reports for a run or holds a GPU."""

    def push(self, pid: int, run: str, line: bytes) -> bool:
        """Send a line to the client of a process. Return False if that is not possible."""


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """The part of the agent's settings that captures need."""

    host: str
    proc_root: Path
    socket_path: Path | None  # for results; None: the agent has no socket
    enabled: bool = True


class CaptureDesk:
    """Accepts orders on the event loop, and puts results and reasons into `results`."""

    def __init__(self, settings: DeskSettings, results: CaptureResults, processes: Processes) -> None:
        self.results = results
        self.answers = ClientAnswers()
        self._settings = settings
        self._processes = processes
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="captures")

    def take(self, message: pb.CaptureOrder) -> None:
        """Begin an order. One that is known already, for example after a reconnect, goes on."""
        if not is_valid_id(message.id) or message.id in self._tasks:
            return
        try:
            if not self._settings.enabled:
                raise CaptureFailed("captures are switched off on this host (setting captures of the agent)")
            if len(self._tasks) >= MAX_ORDERS:
                raise CaptureFailed(f"{MAX_ORDERS} captures are in progress on this host; try again later")
            order = order_of(message)
            process = self._known(order)
        except CaptureFailed as failure:
            self.results.report(message.id, pb.Captured.FAILED, str(failure))
            return
        self.results.report(order.id, pb.Captured.ACCEPTED)
        _log.info("capture_ordered", id=order.id, what=order.what, run=order.run, rank=order.rank, pid=order.pid)
        task = asyncio.create_task(self._carry_out(order, process), name=f"capture-{order.id}")
        self._tasks[order.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(order.id, None))

    def take_next(self, message: pb.CaptureNext) -> None:
        """Go on with a result, or end an order of which the collector needs no more."""
        if message.forget and (task := self._tasks.get(message.id)) is not None:
            task.cancel()
        self.results.take_next(message)

    @property
    def ready(self) -> bool:
        """Return True if there is something to send."""
        return self.results.ready

    def begin_stream(self, wake: Callable[[], None]) -> None:
        """Send to a new stream from now on. Threads add results, and `wake` belongs to the event loop."""
        loop = asyncio.get_running_loop()

        def wake_from_any_thread() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(wake)

        self.results.begin_stream(wake_from_any_thread)

    def next_message(self) -> pb.Captured | None:
        """Return what to send next. It reads a file."""
        return self.results.next_message()

    def note(self, peer: SocketPeer, capture: str, state: str, detail: str) -> None:
        """Take a progress or a reason that a client sent on its connection."""
        if not self.answers.is_expected(capture, peer.pid):
            return
        if state == "failed":
            self.answers.fail(capture, peer.pid, detail or "the process gave no reason")
        elif state in _STATES:
            self.results.report(capture, _STATES[state], detail)

    def left(self, peer: SocketPeer) -> None:
        """Fail the orders of a process whose connection has ended."""
        self.answers.fail_all_of(peer.pid, f"process {peer.pid} has ended or left its run")

    def stop(self) -> None:
        """End everything without waiting for a thread that hangs."""
        for task in list(self._tasks.values()):
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _known(self, order: CheckedOrder) -> KnownProcess:
        """Return the process of an order. The collector can name only processes that belong to its run here."""
        process = self._processes.find(order.pid) if order.pid else None
        if process is None:
            raise CaptureFailed(f"process {order.pid} belongs to no run on this host; it may have ended")
        if process.has_client and process.run != order.run:
            raise CaptureFailed(f"process {order.pid} belongs to run {process.run!r}")
        if order.what != STACKS and not process.has_client:
            raise CaptureFailed("the process does not report to the agent, so only its stacks can be captured")
        return process

    async def _carry_out(self, order: CheckedOrder, process: KnownProcess) -> None:
        try:
            async with asyncio.timeout(order.seconds):
                await (self._stacks(order) if order.what == STACKS else self._ask_client(order))
        except CaptureFailed as failure:
            self.results.report(order.id, pb.Captured.FAILED, str(failure))
        except TimeoutError:
            self.results.report(order.id, pb.Captured.FAILED, _time_over(order))
        except Exception as error:  # noqa: BLE001  one order must not end the agent; its answer has the reason
            _log.exception("capture_failed", id=order.id, run=process.run)
            self.results.report(order.id, pb.Captured.FAILED, f"internal error of the agent: {error!r}")

    async def _stacks(self, order: CheckedOrder) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, self._stacks_in_thread, order)

    def _stacks_in_thread(self, order: CheckedOrder) -> None:
        body, note = capture_stacks(order, self._settings.host, self._settings.proc_root)
        self.results.add_bytes(order.id, body, note)

    async def _ask_client(self, order: CheckedOrder) -> None:
        """Pass the order to the process, and copy the file that it delivers."""
        if self._settings.socket_path is None:
            raise CaptureFailed("the agent has no socket on which processes can deliver results")
        line = {
            "kind": "capture",
            "id": order.id,
            "what": order.what,
            "steps": order.steps,
            "seconds": max(1, order.seconds - 2),  # the process gives up first, so that its reason arrives
            "max_bytes": order.max_bytes,
            "socket": str(self._settings.socket_path),
        }
        answer = self.answers.expect(order.id, order.pid)
        copying: Future[None] | None = None
        try:
            if not self._processes.push(order.pid, order.run, msgspec.json.encode(line) + b"\n"):
                raise CaptureFailed("the process leaves the messages of the agent unread")
            result = await answer
            note = ResultNote("client", result.file_name or f"{order.what}.bin", result.detail)
            copying = self._threads.submit(_copy, self.results, order, result, note)
            await asyncio.wrap_future(copying)
        finally:
            if copying is None or copying.cancel():  # a thread that has begun closes the file itself
                _close_unused(answer)


def _copy(results: CaptureResults, order: CheckedOrder, result: ClientResult, note: ResultNote) -> None:
    try:
        results.add_file(order.id, result.descriptor, order.max_bytes, note)
    finally:
        close_result(result)


def _close_unused(answer: "asyncio.Future[ClientResult]") -> None:
    """Accept no answer any more, and close the file of one that has come meanwhile."""
    if not answer.cancel() and not answer.cancelled() and answer.exception() is None:
        close_result(answer.result())


def _time_over(order: CheckedOrder) -> str:
    if order.what == STACKS:
        return f"no stacks within {order.seconds} s"
    return (
        f"the process did not answer within {order.seconds} s: it has not reached {order.steps} step boundaries. "
        "For a rank that hangs, capture its stacks"
    )
