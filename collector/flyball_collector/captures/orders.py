"""Orders captures from agents, follows them, and takes their results. It runs on the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import structlog

from flyball_collector.captures.active_capture import ActiveCapture
from flyball_collector.captures.archive import CaptureArchive
from flyball_collector.captures.capture import Capture, CaptureState, clean_file_name, clean_text
from flyball_collector.captures.capture_list import CaptureList
from flyball_collector.captures.request import CaptureRequest, TooManyCaptures, order_message
from flyball_collector.captures.settings import CapturesSettings
from flyball_collector.captures.targets import CaptureTarget
from flyball_collector.captures.writer import CaptureWriter
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store, StoreError
from flyball_proto.v1 import telemetry_pb2 as pb

_log = structlog.get_logger(__name__)

MAX_ACTIVE = 256
"""In all. Each has at most one part in memory, so 256 take less than 50 MB."""

_TIDY_SECONDS = 60.0
_RETRY_SECONDS = 10.0
_STATES = {pb.Captured.ACCEPTED: CaptureState.ACCEPTED, pb.Captured.RUNNING: CaptureState.RUNNING}


class CaptureAgents(Protocol):
    """The agents' streams."""

    def order_capture(self, host: str, order: pb.CaptureOrder) -> bool:
        """Send an order. Return False if the host has no stream."""

    def capture_next(self, host: str, message: pb.CaptureNext) -> None:
        """Ask for the rest of a result, or report that no more of it is needed."""

    def version_of(self, host: str) -> str:
        """Return the version of a host's agent; empty if it is unknown."""


class NoAgents:
    """No streams: nothing can be ordered yet."""

    def order_capture(self, host: str, order: pb.CaptureOrder) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def capture_next(self, host: str, message: pb.CaptureNext) -> None:
        """Do nothing."""

    def version_of(self, host: str) -> str:  # noqa: ARG002
        """Return nothing."""
        return ""


class CaptureOrders:
    """The collector's captures: those in progress, and all others by name."""

    def __init__(
        self,
        store: Store,
        settings: CapturesSettings,
        metrics: OwnMetrics,
        clock: Callable[[], int],
        monotonic: Callable[[], float],
        *,
        keep_days: float = 30.0,
    ) -> None:
        self.captures = CaptureList()
        self.archive = CaptureArchive(store)
        self.agents: CaptureAgents = NoAgents()
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._monotonic = monotonic
        self._keep_ns = int(keep_days * 86_400 * 10**9)
        self._writer = CaptureWriter()
        self._active: dict[str, ActiveCapture] = {}
        self._tidied = monotonic()
        self._load_at: float | None = monotonic()  # `None`: everything is loaded

    def order(self, request: CaptureRequest, targets: Sequence[CaptureTarget]) -> list[Capture]:
        """Order a capture of each target. Raise `TooManyCaptures` if there are too many in progress."""
        if len(self._active) + len(targets) > MAX_ACTIVE:
            raise TooManyCaptures(f"{len(self._active)} captures are in progress; the limit is {MAX_ACTIVE}")
        return [self._order(request, target) for target in targets]

    def take(self, host: str, message: pb.Captured) -> bool:
        """Take a message of an agent. Return False if it belongs to no order."""
        active = self._active.get(message.id)
        if active is None or active.capture.host != host:
            self._metrics.captures_refused.inc()
            self._forget(host, message.id, "not ordered, or no longer needed")
            return False
        active.heard = self._monotonic()
        if message.state == pb.Captured.FAILED:
            self._end(active, CaptureState.FAILED, clean_text(message.detail) or "the agent gave no reason")
        elif message.state == pb.Captured.DATA:
            return self._take_part(active, message)
        elif message.state in _STATES and active.upload.size is None:
            self.captures.put(active.change(state=_STATES[message.state], detail=clean_text(message.detail)))
        return True

    def remove(self, capture: Capture) -> None:
        """Delete a capture. One in progress is given up."""
        if self._active.pop(capture.id, None) is not None:
            self._forget(capture.host, capture.id, "deleted")
        self.captures.remove(capture.id)
        self._writer.add(lambda: self.archive.delete(capture))

    def remove_host(self, host: str) -> None:
        """Forget the captures of a host that is removed; the store deletes its documents."""
        for capture in self.captures.find(host=host):
            self._active.pop(capture.id, None)
            self.captures.remove(capture.id)

    async def run(self) -> None:
        """Load what is stored; then write, and watch the time. Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._writer.run(), name="captures-writer")
            while True:
                self.every_second()
                await asyncio.sleep(1.0)

    async def written(self) -> None:
        """Wait until everything is written."""
        await self._writer.written()

    def shut_down(self) -> None:
        """Release the thread."""
        self._writer.shut_down()

    def every_second(self) -> None:
        """Fail what takes too long, and delete what is too old or too much."""
        now = self._monotonic()
        if self._load_at is not None and now >= self._load_at:
            self._load_at = now + _RETRY_SECONDS
            self._load()
        for active in list(self._active.values()):
            if reason := active.overdue(now, self.agents.version_of(active.capture.host)):
                self._give_up(active, reason)
        self._metrics.captures_bytes.set(self.captures.stored_bytes)
        if now - self._tidied >= _TIDY_SECONDS:
            self._tidied = now
            self._delete(self.captures.surplus(self._settings.max_bytes, self._clock() - self._keep_ns))

    # --- orders ---

    def _order(self, request: CaptureRequest, target: CaptureTarget) -> Capture:
        capture = request.capture_of(target, self._clock(), self._settings.capture_max_bytes)
        active = self._active[capture.id] = ActiveCapture(capture, self._monotonic())
        self.captures.put(capture)
        self._store(capture)
        if not self.agents.order_capture(target.host, order_message(capture)):
            self._end(active, CaptureState.FAILED, f"host {target.host} is not connected")
        return active.capture

    # --- results ---

    def _take_part(self, active: ActiveCapture, part: pb.Captured) -> bool:
        capture, upload = active.capture, active.upload
        if upload.writing:
            return False  # an agent waits until a part is stored
        fault = upload.fault(part) or self._no_room(len(part.data))
        if fault:
            self._give_up(active, fault)
            return True
        upload.begin(part)
        changed = active.change(
            state=CaptureState.STORING,
            detail=clean_text(part.detail),
            source=clean_text(part.source)[:40],
            file_name=clean_file_name(part.file_name, capture.what),
            size_bytes=part.size_bytes,
        )
        self.captures.put(changed)
        data, offset = part.data, upload.offset
        self._writer.add(
            lambda: self.archive.put_part(capture, offset, data),
            lambda stored: self._written(active, len(data), stored),
            lambda error: self._not_written(active, error),
        )
        return True

    def _no_room(self, length: int) -> str:
        """Make room for a part. Return why there is none."""
        arriving = sum(each.upload.stored_bytes for each in self._active.values())
        limit = max(0, self._settings.max_bytes - arriving - length)
        if self.captures.stored_bytes > limit:
            self._delete(self.captures.surplus(limit, 0))
        if self.captures.stored_bytes > limit or arriving + length > self._settings.max_bytes:
            return f"the captures in progress exceed captures.max_bytes ({self._settings.max_bytes:,} bytes)"
        return ""

    def _written(self, active: ActiveCapture, length: int, stored_bytes: int) -> None:
        capture, upload = active.capture, active.upload
        upload.written(length, stored_bytes)
        active.heard = self._monotonic()
        if self._active.get(capture.id) is not active:  # given up meanwhile
            self._delete_parts(capture)
        elif not upload.is_complete:
            self.agents.capture_next(capture.host, pb.CaptureNext(id=capture.id, offset=upload.offset))
        elif upload.is_intact:
            self._forget(capture.host, capture.id, "stored")
            active.change(stored_bytes=upload.stored_bytes, sha256=upload.digest)
            self._end(active, CaptureState.DONE, capture.detail)
        else:
            self._give_up(active, "the result was damaged: its SHA-256 digest differs")

    def _not_written(self, active: ActiveCapture, error: StoreError) -> None:
        if active.capture.id in self._active:
            self._give_up(active, f"the store refused it: {clean_text(str(error))}")

    # --- helpers ---

    def _give_up(self, active: ActiveCapture, reason: str) -> None:
        self._forget(active.capture.host, active.capture.id, reason)
        self._end(active, CaptureState.FAILED, reason)

    def _end(self, active: ActiveCapture, state: CaptureState, detail: str) -> None:
        """End a capture, store what became of it, and delete the parts of one that failed."""
        capture = active.change(state=state, detail=detail, ended_ns=self._clock())
        self.captures.put(capture)
        self._active.pop(capture.id, None)
        self._metrics.captures.labels(capture.what, state.value).inc()
        if state is CaptureState.FAILED and active.upload.offset:
            self._delete_parts(capture)
        self._store(capture)
        _log.info("capture_ended", id=capture.id, what=capture.what, host=capture.host, state=state, detail=detail)

    def _store(self, capture: Capture) -> None:
        self._writer.add(lambda: self.archive.put(capture))

    def _delete_parts(self, capture: Capture) -> None:
        self._writer.add(lambda: self.archive.delete(capture, keep_description=True))

    def _forget(self, host: str, capture: str, reason: str) -> None:
        self.agents.capture_next(host, pb.CaptureNext(id=capture[:64], forget=True, reason=reason))

    def _delete(self, captures: Sequence[Capture]) -> None:
        for capture in captures:
            self.remove(capture)

    def _load(self) -> None:
        """Load stored captures. One that was in progress when the collector stopped is over."""
        loaded: list[Capture] = []
        self._writer.add(lambda: self._load_in_thread(loaded), lambda _: self._loaded(loaded))

    def _loaded(self, captures: Sequence[Capture]) -> None:
        self.captures.load(captures)
        self._load_at = None

    def _load_in_thread(self, loaded: list[Capture]) -> int:
        for capture in self.archive.load():
            if not capture.is_over and capture.id not in self._active:
                self.archive.delete(capture, keep_description=True)
                reason = "the collector was restarted meanwhile"
                capture = msgspec.structs.replace(  # noqa: PLW2901  as it is from now on
                    capture, state=CaptureState.FAILED, detail=reason, ended_ns=capture.ordered_ns, size_bytes=0
                )
                self.archive.put(capture)
            loaded.append(capture)
        return len(loaded)
