"""The spool: append-only segments per epoch, limited in bytes and age. It never raises into sampling."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from flyball_agent.clock import HostClock
from flyball_agent.record import Definition, Epoch, TickRecord
from flyball_agent.schedule import NANOSECONDS
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.epoch_segments import EMPTY, EpochSegments, EpochSummary
from flyball_agent.spool.format import SpooledRecord
from flyball_agent.spool.losses import loss_entry, write_losses
from flyball_agent.spool.recovery import load_epochs
from flyball_agent.spool.segment import FileSegment, MemorySegment, Segment
from flyball_proto.ranges import RangeSet

_log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0

Announce = Callable[[str, str], None]
"""Takes the kind and text of a host event."""


class Spool:
    """Keeps records until they are settled.

    A `SpoolWriter` appends, the uplink reads and settles (in threads, because a disk can be slow or hang), and another
    thread flushes written records to the disk. One lock guards all of this; it is held for the time of one write.
    """

    def __init__(
        self,
        directory: Path,
        settings: SpoolSettings,
        *,
        clock: HostClock,
        self_metrics: SelfMetrics,
        announce: Announce,
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._metrics = self_metrics
        self._announce = announce
        self._lock = threading.RLock()
        self._epochs: dict[bytes, EpochSegments] = {}
        self._current: EpochSegments | None = None
        self._file: FileSegment | None = None
        self._ring: MemorySegment | None = None
        self._retry_ns = 0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._unsynced: list[int] = []
        self._stop = threading.Event()
        self._syncer: threading.Thread | None = None
        self.lost_version = 0
        self._segment_bytes = min(settings.segment_bytes, max(4096, settings.max_bytes // 4))
        self._max_age_ns = round(settings.max_age_hours * 3600 * NANOSECONDS)
        self._load()

    # Start and stop

    def begin(self, epoch: Epoch) -> None:
        """Start an epoch and end the previous one."""
        with self._lock:
            if self._current is not None:
                self._current.ended = True
                self._close_file()
                self._ring = None
                self._metrics.spool_degraded = False
                self._drop_if_over(self._current)
            self._current = self._epochs[epoch.id] = EpochSegments(epoch, ended=False)

    def start_syncing(self) -> None:
        """Start the thread that flushes written records to the disk."""
        self._syncer = threading.Thread(target=self._sync_repeatedly, name="spool-sync", daemon=True)
        self._syncer.start()

    def close(self, wait_seconds: float = 1.0) -> None:
        """Write the records that are only in memory, if the disk permits, and flush everything."""
        self._stop.set()
        with self._lock:
            if self._ring is not None:
                self._retry_ns = 0
                self._leave_memory(self._clock.boot_ns())
            self._close_file()
        closing = threading.Thread(target=self.sync, name="spool-close", daemon=True)
        closing.start()
        closing.join(wait_seconds)

    # For the writer

    def append(self, tick: TickRecord) -> None:
        """Keep a record, in memory if the disk refuses it.

        Sequences missing before it were dropped by the writer because the disk hung for too long.
        """
        boot_ns = self._clock.boot_ns()
        with self._lock:
            state = self._current
            if state is None:
                return
            skipped = RangeSet([(state.next, tick.sequence)]) if state.next < tick.sequence else EMPTY
            state.next = tick.sequence + 1
            if skipped:
                self._lose(state, skipped, "disk_hung")
            if self._ring is not None and boot_ns >= self._retry_ns:
                self._leave_memory(boot_ns)
            if self._ring is None:
                try:
                    self._write(state, tick, boot_ns)
                except OSError as error:
                    self._enter_memory(state, error, boot_ns)
            if self._ring is not None:
                self._lose(state, RangeSet.of(self._ring.append(tick)), "memory_full")
            self._enforce_limits(boot_ns)
            self._metrics.spool_bytes = sum(state.bytes for state in self._epochs.values())

    # For the uplink

    def epochs(self) -> list[EpochSummary]:
        """Return the epochs that may have unsettled records, oldest first, the current one last."""
        with self._lock:
            return [state.describe() for state in self._epochs.values()]

    def held(self, epoch: bytes) -> RangeSet:
        """Return the sequences that can be read and are not settled."""
        with self._lock:
            state = self._epochs.get(epoch)
            return state.held() if state else EMPTY

    def lost(self, epoch: bytes) -> RangeSet:
        """Return the sequences that are lost and not settled."""
        with self._lock:
            state = self._epochs.get(epoch)
            return state.lost if state else EMPTY

    def missing(self, epoch: bytes) -> RangeSet:
        """Return the sequences that the spool neither has nor declared lost: deleted by an earlier run, or damaged."""
        with self._lock:
            state = self._epochs.get(epoch)
            return state.missing() if state else EMPTY

    def read(self, epoch: bytes, first: int, following: int, max_bytes: int) -> list[SpooledRecord]:
        """Read records of [first, following) from one segment. A segment that cannot be read is declared lost."""
        with self._lock:
            state = self._epochs.get(epoch)
            segments = list(state.segments) if state else []
            for segment in segments:
                if next(segment.ranges.within(first, following), None) is None:
                    continue
                try:
                    return segment.read(first, following, max_bytes)
                except OSError as error:
                    _log.warning("spool_read_failed", segment=_name(segment), error=str(error))
                    self.declare_lost(epoch, RangeSet(segment.ranges.within(first, following)), "unreadable")
        return []

    def definition(self, epoch: bytes, digest: int) -> Definition | None:
        """Return the definition with this digest."""
        with self._lock:
            state = self._epochs.get(epoch)
            for segment in reversed(state.segments if state else []):
                try:
                    found = segment.definition(digest)
                except OSError:
                    continue
                if found is not None:
                    return found
        return None

    def settle(self, epoch: bytes, settled: int) -> None:
        """Forget everything below `settled`: it is durable, declared lost or refused."""
        with self._lock:
            state = self._epochs.get(epoch)
            if state is None:
                return
            had_lost = bool(state.lost)
            for segment in state.settle(min(settled, state.next)):
                self._delete(segment)
            self._drop_if_over(state)
            if had_lost and not state.lost:
                self._save_losses()
            self._metrics.spool_bytes = sum(state.bytes for state in self._epochs.values())

    def declare_lost(self, epoch: bytes, ranges: RangeSet, reason: str) -> None:
        """Declare sequences lost that turned out to be unreadable."""
        with self._lock:
            state = self._epochs.get(epoch)
            if state is not None:
                self._lose(state, ranges - state.lost, reason)

    # Losses

    def _lose(self, state: EpochSegments, ranges: RangeSet, reason: str) -> None:
        lost = RangeSet(ranges.within(state.settled, state.next))
        if not lost:
            return
        if not state.lost:
            _log.warning("records_lost", epoch=state.epoch.name, reason=reason, first=next(iter(lost))[0])
        state.lost |= lost
        self._metrics.records_lost += len(lost)
        self.lost_version += 1
        if reason != "memory_full":  # while the disk refuses writes, do not try each second
            self._save_losses()

    def _save_losses(self) -> None:
        entries = [loss_entry(state.epoch, state.next, state.lost) for state in self._epochs.values() if state.lost]
        try:
            write_losses(self._directory, entries)
        except OSError as error:
            _log.debug("spool_losses_write_failed", error=str(error))

    def _enforce_limits(self, boot_ns: int) -> None:
        total = sum(state.bytes for state in self._epochs.values())
        for state in list(self._epochs.values()):
            for segment in [s for s in state.segments if isinstance(s, FileSegment) and s is not self._file]:
                over_size = total > self._settings.max_bytes
                if not over_size and boot_ns - segment.touched_boot_ns <= self._max_age_ns:
                    return
                total -= segment.bytes
                state.segments.remove(segment)
                self._delete(segment)
                self._lose(state, segment.ranges, "spool_full" if over_size else "too_old")

    def _drop_if_over(self, state: EpochSegments) -> None:
        if state.is_over:
            for segment in state.segments:
                self._delete(segment)
            self._epochs.pop(state.epoch.id, None)

    def _delete(self, segment: Segment) -> None:
        try:
            segment.delete()
        except OSError as error:
            _log.warning("spool_segment_delete_failed", segment=_name(segment), error=str(error))

    # Writing

    def _write(self, state: EpochSegments, tick: TickRecord, boot_ns: int) -> None:
        file = self._file
        if file is not None and (
            file.bytes >= self._segment_bytes or boot_ns - file.started_boot_ns > self._max_age_ns // 16
        ):
            self._close_file()
            file = None
        if file is None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = FileSegment.create(self._directory, state.epoch, tick, boot_ns)
            state.segments.append(self._file)
            return
        file.append(tick, boot_ns)

    def _close_file(self) -> None:
        if self._file is not None:
            if self._file.fd >= 0:
                self._unsynced.append(self._file.close())
            self._file = None

    def _enter_memory(self, state: EpochSegments, error: OSError, boot_ns: int) -> None:
        """Keep records in memory because the disk refuses them, and try again later with growing intervals."""
        if not self._metrics.spool_degraded:
            text = f"{self._directory}: {error.strerror or error}"
            _log.error("spool_degraded", directory=str(self._directory), error=str(error))
            self._announce("spool_degraded", text)
        self._metrics.spool_degraded = True
        self._close_file()
        self._ring = MemorySegment(state.epoch, self._settings.memory_bytes)
        state.segments.append(self._ring)
        self._retry_ns = boot_ns + round(self._retry_seconds * NANOSECONDS)

    def _leave_memory(self, boot_ns: int) -> None:
        """Move the records in memory to the disk, as far as it takes them."""
        ring, state = self._ring, self._current
        assert ring is not None and state is not None  # noqa: S101, PT018  checked by the callers
        state.segments.remove(ring)
        try:
            while (tick := ring.peek()) is not None:
                self._write(state, tick, boot_ns)
                ring.pop()
        except OSError:
            self._close_file()
            state.segments.append(ring)
            self._retry_seconds = min(LONGEST_RETRY_SECONDS, self._retry_seconds * 2)
            self._retry_ns = boot_ns + round(self._retry_seconds * NANOSECONDS)
            return
        self._ring = None
        self._metrics.spool_degraded = False
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._save_losses()
        _log.warning("spool_recovered", directory=str(self._directory))
        self._announce("spool_recovered", str(self._directory))

    # Disk

    def sync(self) -> None:
        """Flush everything that was written to the disk."""
        with self._lock:
            closed, self._unsynced = self._unsynced, []
            if self._file is not None and self._file.fd >= 0:
                closed.append(os.dup(self._file.fd))
        for fd in closed:
            try:
                os.fdatasync(fd)
            except OSError as error:
                _log.warning("spool_sync_failed", error=str(error))
            finally:
                os.close(fd)

    def _sync_repeatedly(self) -> None:
        while not self._stop.wait(self._settings.sync_seconds):
            self.sync()

    def _load(self) -> None:
        try:
            epochs = load_epochs(self._directory, self._clock)
        except OSError as error:
            _log.warning("spool_load_failed", directory=str(self._directory), error=str(error))
            epochs = []
        self._epochs = {state.epoch.id: state for state in epochs}
        for state in epochs:
            self._lose(state, RangeSet((state.held() | state.lost).gaps(state.first, state.next)), "damaged")
        self._metrics.spool_bytes = sum(state.bytes for state in epochs)


def _name(segment: Segment) -> str:
    return segment.path.name if isinstance(segment, FileSegment) else "memory"
