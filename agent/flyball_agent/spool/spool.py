"""The spool: append-only segments per epoch, bounded in bytes and age; it never raises into sampling."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from flyball_agent.clock import Clock
from flyball_agent.record import Definition, Epoch, Tick
from flyball_agent.schedule import NANOSECONDS
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings
from flyball_agent.spool.format import SpooledRecord
from flyball_agent.spool.ledger import ledger_entry, write_ledger
from flyball_agent.spool.life import EMPTY, Life, SpooledEpoch
from flyball_agent.spool.load import load_lives
from flyball_agent.spool.segment import FileSegment, MemorySegment, Segment
from flyball_proto.ranges import RangeSet

_log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0

Announce = Callable[[str, str], None]
"""Takes the kind and text of a host event."""


class Spool:
    """Keeps records until they are settled.

    A `SpoolWriter` appends, the uplink reads and forgets (in threads: a disk can be slow or hang), and a thread of its
    own forces what was written to the disk. One lock guards all; it is held for as long as one write takes.
    """

    def __init__(
        self, directory: Path, settings: SpoolSettings, *, clock: Clock, self_metrics: SelfMetrics, announce: Announce
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._self_metrics = self_metrics
        self._announce = announce
        self._lock = threading.RLock()
        self._lives: dict[bytes, Life] = {}
        self._current: Life | None = None
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

    # Life of the spool

    def begin(self, epoch: Epoch) -> None:
        """Start an epoch; the one before has ended."""
        with self._lock:
            if self._current is not None:
                self._current.ended = True
                self._close_file()
                self._ring = None
                self._self_metrics.spool_degraded = False
                self._drop_if_over(self._current)
            self._current = self._lives[epoch.id] = Life(epoch, ended=False)

    def start_syncing(self) -> None:
        """Force written records to the disk from now on."""
        self._syncer = threading.Thread(target=self._sync_repeatedly, name="spool-sync", daemon=True)
        self._syncer.start()

    def close(self, wait_seconds: float = 1.0) -> None:
        """Write what is only in memory, if the disk takes it now, and force all to the disk."""
        self._stop.set()
        with self._lock:
            if self._ring is not None:
                self._retry_ns = 0
                self._leave_memory(self._clock.boot_ns())
            self._close_file()
        closing = threading.Thread(target=self.sync, name="spool-close", daemon=True)
        closing.start()
        closing.join(wait_seconds)

    # The writer's side

    def append(self, tick: Tick) -> None:
        """Keep a record, whatever the disk says. What is missing before it never came: the disk hung for too long."""
        boot_ns = self._clock.boot_ns()
        with self._lock:
            life = self._current
            if life is None:
                return
            skipped = RangeSet([(life.next, tick.sequence)]) if life.next < tick.sequence else EMPTY
            life.next = tick.sequence + 1
            if skipped:
                self._lose(life, skipped, "disk_hung")
            if self._ring is not None and boot_ns >= self._retry_ns:
                self._leave_memory(boot_ns)
            if self._ring is None:
                try:
                    self._write(life, tick, boot_ns)
                except OSError as error:
                    self._enter_memory(life, error, boot_ns)
            if self._ring is not None:
                self._lose(life, RangeSet.of(self._ring.append(tick)), "memory_full")
            self._enforce_limits(boot_ns)
            self._self_metrics.spool_bytes = sum(life.bytes for life in self._lives.values())

    # The uplink's side

    def epochs(self) -> list[SpooledEpoch]:
        """Every epoch of which anything may be unsettled, oldest first, the current one last."""
        with self._lock:
            return [life.describe() for life in self._lives.values()]

    def held(self, epoch: bytes) -> RangeSet:
        """Sequences that can be read and are not settled."""
        with self._lock:
            life = self._lives.get(epoch)
            return life.held() if life else EMPTY

    def lost(self, epoch: bytes) -> RangeSet:
        """Sequences that are gone for ever and not settled."""
        with self._lock:
            life = self._lives.get(epoch)
            return life.lost if life else EMPTY

    def missing(self, epoch: bytes) -> RangeSet:
        """Sequences that this spool neither holds nor dropped: forgotten by an earlier life, or damaged."""
        with self._lock:
            life = self._lives.get(epoch)
            return life.missing() if life else EMPTY

    def read(self, epoch: bytes, first: int, following: int, max_bytes: int) -> list[SpooledRecord]:
        """Records of [first, following) in order, as far as they lie in one segment; OSError is damage to declare."""
        with self._lock:
            life = self._lives.get(epoch)
            segments = list(life.segments) if life else []
            for segment in segments:
                if next(segment.ranges.within(first, following), None) is None:
                    continue
                try:
                    return segment.read(first, following, max_bytes)
                except OSError as error:
                    _log.warning("spool_unreadable", segment=_name(segment), error=str(error))
                    self.declare_lost(epoch, RangeSet(segment.ranges.within(first, following)), "unreadable")
        return []

    def definition(self, epoch: bytes, digest: int) -> Definition | None:
        """What records refer to by this digest."""
        with self._lock:
            life = self._lives.get(epoch)
            for segment in reversed(life.segments if life else []):
                try:
                    found = segment.definition(digest)
                except OSError:
                    continue
                if found is not None:
                    return found
        return None

    def settle(self, epoch: bytes, settled: int) -> None:
        """Everything below is durable, declared lost or refused: forget it."""
        with self._lock:
            life = self._lives.get(epoch)
            if life is None:
                return
            had_lost = bool(life.lost)
            for segment in life.settle(min(settled, life.next)):
                self._delete(segment)
            self._drop_if_over(life)
            if had_lost and not life.lost:
                self._save_ledger()
            self._self_metrics.spool_bytes = sum(life.bytes for life in self._lives.values())

    def declare_lost(self, epoch: bytes, ranges: RangeSet, reason: str) -> None:
        """What turned out to be unreadable."""
        with self._lock:
            life = self._lives.get(epoch)
            if life is not None:
                self._lose(life, ranges - life.lost, reason)

    # Losing

    def _lose(self, life: Life, ranges: RangeSet, reason: str) -> None:
        lost = RangeSet(ranges.within(life.settled, life.next))
        if not lost:
            return
        if not life.lost:
            _log.warning("records_lost", epoch=life.epoch.name, reason=reason, first=next(iter(lost))[0])
        life.lost |= lost
        self._self_metrics.records_lost += len(lost)
        self.lost_version += 1
        if reason != "memory_full":  # while the disk refuses there is no use in asking it each second
            self._save_ledger()

    def _save_ledger(self) -> None:
        entries = [ledger_entry(life.epoch, life.next, life.lost) for life in self._lives.values() if life.lost]
        try:
            write_ledger(self._directory, entries)
        except OSError as error:
            _log.debug("ledger_not_written", error=str(error))

    def _enforce_limits(self, boot_ns: int) -> None:
        total = sum(life.bytes for life in self._lives.values())
        for life in list(self._lives.values()):
            for segment in [s for s in life.segments if isinstance(s, FileSegment) and s is not self._file]:
                too_much = total > self._settings.max_bytes
                if not too_much and boot_ns - segment.touched_boot_ns <= self._max_age_ns:
                    return
                total -= segment.bytes
                life.segments.remove(segment)
                self._delete(segment)
                self._lose(life, segment.ranges, "spool_full" if too_much else "too_old")

    def _drop_if_over(self, life: Life) -> None:
        if life.is_over:
            for segment in life.segments:
                self._delete(segment)
            self._lives.pop(life.epoch.id, None)

    def _delete(self, segment: Segment) -> None:
        try:
            segment.delete()
        except OSError as error:
            _log.warning("spool_segment_stays", segment=_name(segment), error=str(error))

    # Writing

    def _write(self, life: Life, tick: Tick, boot_ns: int) -> None:
        file = self._file
        if file is not None and (
            file.bytes >= self._segment_bytes or boot_ns - file.started_boot_ns > self._max_age_ns // 16
        ):
            self._close_file()
            file = None
        if file is None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = FileSegment.create(self._directory, life.epoch, tick, boot_ns)
            life.segments.append(self._file)
            return
        file.append(tick, boot_ns)

    def _close_file(self) -> None:
        if self._file is not None:
            if self._file.fd >= 0:
                self._unsynced.append(self._file.close())
            self._file = None

    def _enter_memory(self, life: Life, error: OSError, boot_ns: int) -> None:
        """The disk refuses: go on in memory, and try again later, each time a little later."""
        if not self._self_metrics.spool_degraded:
            text = f"{self._directory}: {error.strerror or error}"
            _log.error("spool_degraded", directory=str(self._directory), error=str(error))
            self._announce("spool_degraded", text)
        self._self_metrics.spool_degraded = True
        self._close_file()
        self._ring = MemorySegment(life.epoch, self._settings.memory_bytes)
        life.segments.append(self._ring)
        self._retry_ns = boot_ns + round(self._retry_seconds * NANOSECONDS)

    def _leave_memory(self, boot_ns: int) -> None:
        """Move the ring to the disk; as far as that goes."""
        ring, life = self._ring, self._current
        assert ring is not None and life is not None  # noqa: S101, PT018  the callers have looked
        life.segments.remove(ring)
        try:
            while (tick := ring.peek()) is not None:
                self._write(life, tick, boot_ns)
                ring.pop()
        except OSError:
            self._close_file()
            life.segments.append(ring)
            self._retry_seconds = min(LONGEST_RETRY_SECONDS, self._retry_seconds * 2)
            self._retry_ns = boot_ns + round(self._retry_seconds * NANOSECONDS)
            return
        self._ring = None
        self._self_metrics.spool_degraded = False
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._save_ledger()
        _log.warning("spool_recovered", directory=str(self._directory))
        self._announce("spool_recovered", str(self._directory))

    # The disk

    def sync(self) -> None:
        """Force everything that was written to the disk."""
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
            lives = load_lives(self._directory, self._clock)
        except OSError as error:
            _log.warning("spool_not_loaded", directory=str(self._directory), error=str(error))
            lives = []
        self._lives = {life.epoch.id: life for life in lives}
        for life in lives:
            self._lose(life, RangeSet((life.held() | life.lost).gaps(life.first, life.next)), "damaged")
        self._self_metrics.spool_bytes = sum(life.bytes for life in lives)


def _name(segment: Segment) -> str:
    return segment.path.name if isinstance(segment, FileSegment) else "memory"
