"""Segments: a stretch of one epoch's records, in a file, or in memory while the disk refuses."""

import mmap
import os
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.errors import SpoolDamaged
from flyball_agent.record import Definition, Epoch, Tick
from flyball_agent.spool.format import (
    HEADER,
    Damage,
    Entry,
    EntryKind,
    SpooledRecord,
    decode_definition,
    decode_epoch,
    decode_record,
    encode_definition,
    encode_epoch,
    encode_record,
    entries_start,
    file_name,
    scan,
    unfinished_bytes,
)
from flyball_proto.ranges import RangeSet

_MARK_EVERY = 16
_EPOCH_EVERY = 64
"""After the first record, and then after so many, the epoch is said again: a file's head may be damaged."""

_READ_AHEAD_BYTES = 128 * 1024
_FRESH = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(slots=True)
class Index:
    """Which sequences a segment holds, and about where; small beside the segment."""

    stretches: list[list[int]] = field(default_factory=list)
    definitions: dict[int, tuple[int, int]] = field(default_factory=dict)
    count: int = 0
    _sequences: list[int] = field(default_factory=list)
    _offsets: list[int] = field(default_factory=list)

    def add(self, sequence: int, offset: int) -> None:
        if self.stretches and self.stretches[-1][1] == sequence:
            self.stretches[-1][1] += 1
        else:
            self.stretches.append([sequence, sequence + 1])
            self._mark(sequence, offset)
        if self.count % _MARK_EVERY == 0:
            self._mark(sequence, offset)
        self.count += 1

    def learn(self, entry: Entry) -> Epoch | None:
        """Take in an entry that was read back; the epoch, if that is what it says."""
        if entry.kind == EntryKind.EPOCH:
            return decode_epoch(entry.body)
        if entry.kind == EntryKind.RECORD:
            record = decode_record(entry.body)
            if record is not None:
                self.add(record.sequence, entry.start)
        elif entry.kind == EntryKind.DEFINITION:
            definition = decode_definition(entry.body)
            if definition is not None:
                self.definitions[definition.digest] = (entry.start, entry.end - entry.start)
        return None

    def offset_before(self, sequence: int) -> int:
        """Where to begin to look for a sequence."""
        at = bisect_right(self._sequences, sequence) - 1
        return self._offsets[max(0, at)] if self._offsets else 0

    @property
    def ranges(self) -> RangeSet:
        return RangeSet((first, following) for first, following in self.stretches)

    @property
    def next(self) -> int:
        return max((stretch[1] for stretch in self.stretches), default=0)

    def _mark(self, sequence: int, offset: int) -> None:
        if not self._sequences or sequence > self._sequences[-1]:
            self._sequences.append(sequence)
            self._offsets.append(offset)


class FileSegment:
    """A segment on the disk."""

    def __init__(self, path: Path, epoch: Epoch, first: int, *, touched_boot_ns: int) -> None:
        self.path = path
        self.epoch = epoch
        self.first = first
        self.index = Index()
        self.bytes = 0
        self.damaged_bytes = 0
        self.started_boot_ns = touched_boot_ns
        self.touched_boot_ns = touched_boot_ns
        self.fd = -1

    @classmethod
    def create(cls, directory: Path, epoch: Epoch, tick: Tick, boot_ns: int) -> "FileSegment":
        """Begin a new file with its first record; OSError when the disk refuses, and then no file is left.

        A file of that name can only be one that was begun in vain and could not be removed: no record is in it.
        """
        path = directory / file_name(epoch, tick.sequence)
        segment = cls(path, epoch, tick.sequence, touched_boot_ns=boot_ns)
        segment.fd = os.open(path, _FRESH, 0o640)
        try:
            segment._write(HEADER + encode_epoch(epoch))
            segment.append(tick, boot_ns)
        except OSError:
            segment.delete()
            raise
        return segment

    @classmethod
    def load(cls, path: Path, first: int, touched_boot_ns: int, epoch: Epoch | None = None) -> "FileSegment":
        """Read what an earlier life left. `epoch` stands in where the file does not say it any more."""
        index, damaged, said = Index(), 0, epoch
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            size, end = len(data), entries_start(data)
            for part in scan(data, end):
                if isinstance(part, Damage):
                    damaged += part.end - part.start
                else:
                    said = index.learn(part) or said
                    end = part.end
        if said is None:
            raise SpoolDamaged("nothing in it says whose records these are")
        segment = cls(path, said, first, touched_boot_ns=touched_boot_ns)
        segment.index, segment.bytes, segment.damaged_bytes = index, size, damaged
        segment._cut_torn_tail(end)
        return segment

    @property
    def ranges(self) -> RangeSet:
        return self.index.ranges

    @property
    def next(self) -> int:
        return max(self.first, self.index.next)

    def append(self, tick: Tick, boot_ns: int) -> None:
        """Write a record and what it needs at once; OSError leaves the file as it was."""
        fresh = [definition for definition in tick.definitions if definition.digest not in self.index.definitions]
        again = [encode_epoch(self.epoch)] if self.index.count % _EPOCH_EVERY == 1 else []
        parts = [encode_definition(definition) for definition in fresh]
        place = self.bytes + sum(map(len, again))
        self._write(b"".join((*again, *parts, encode_record(tick))))
        for definition, part in zip(fresh, parts, strict=True):
            self.index.definitions[definition.digest] = (place, len(part))
            place += len(part)
        self.index.add(tick.sequence, place)
        self.touched_boot_ns = boot_ns

    def read(self, first: int, following: int, max_bytes: int) -> list[SpooledRecord]:
        """Records of [first, following), at least one if there is one, and not many bytes more than asked."""
        records: list[SpooledRecord] = []
        total, offset = 0, self.index.offset_before(first)
        want = max_bytes + _READ_AHEAD_BYTES
        with self.path.open("rb", buffering=0) as file:
            while offset < self.bytes:
                data = os.pread(file.fileno(), want, offset)
                position = 0
                for part in scan(data, 0, partial=offset + len(data) < self.bytes):
                    position = part.end
                    record = decode_record(part.body) if isinstance(part, Entry) and part.kind == 2 else None
                    if record is None or record.sequence < first:
                        continue
                    if record.sequence >= following or (records and total + len(record.record) > max_bytes):
                        return records
                    records.append(record)
                    total += len(record.record)
                if position == 0:
                    longer = unfinished_bytes(data, 0)
                    if longer <= len(data):
                        return records
                    want = longer
                offset += position
        return records

    def definition(self, digest: int) -> Definition | None:
        """Read back what records of this segment refer to."""
        place = self.index.definitions.get(digest)
        if place is None:
            return None
        with self.path.open("rb", buffering=0) as file:
            data = os.pread(file.fileno(), place[1], place[0])
        for part in scan(data, 0):
            if isinstance(part, Entry):
                return decode_definition(part.body)
        return None

    def forget_before(self, settled: int) -> bool:
        """True when the whole segment may go; a file is never shortened from the front."""
        return self.next <= settled

    def close(self) -> int:
        """Stop writing; the descriptor is handed out, for a last sync."""
        fd, self.fd = self.fd, -1
        return fd

    def delete(self) -> None:
        """Remove the file; that it is gone already is as good."""
        if self.fd >= 0:
            os.close(self.close())
        self.path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self.fd, data)
            if written != len(data):  # the disk filled in the middle; the next call would say so
                raise OSError(28, "No space left on device")
        except OSError:
            os.ftruncate(self.fd, self.bytes)
            raise
        self.bytes += len(data)

    def _cut_torn_tail(self, end: int) -> None:
        """What follows the last good entry was being written when the host or agent died."""
        if end < self.bytes and end > 0:
            try:
                os.truncate(self.path, end)
            except OSError:
                return
            self.bytes = end


class MemorySegment:
    """A ring that stands in for files; the oldest records fall out."""

    def __init__(self, epoch: Epoch, max_bytes: int) -> None:
        self.epoch = epoch
        self.bytes = 0
        self.fd = -1
        self.damaged_bytes = 0
        self.touched_boot_ns = 0
        self._max_bytes = max_bytes
        self._ticks: deque[Tick] = deque()

    @property
    def ranges(self) -> RangeSet:
        return RangeSet.of(tick.sequence for tick in self._ticks)

    @property
    def next(self) -> int:
        return self._ticks[-1].sequence + 1 if self._ticks else 0

    def append(self, tick: Tick) -> list[int]:
        """Keep a record; the sequences that had to fall out for it."""
        self._ticks.append(tick)
        self.bytes += len(tick.record)
        fallen: list[int] = []
        while self._ticks and self.bytes > self._max_bytes:
            fallen.append(self.pop().sequence)
        return fallen

    def pop(self) -> Tick:
        """Take the oldest record out."""
        tick = self._ticks.popleft()
        self.bytes -= len(tick.record)
        return tick

    def peek(self) -> Tick | None:
        return self._ticks[0] if self._ticks else None

    def read(self, first: int, following: int, max_bytes: int) -> list[SpooledRecord]:
        """As of a file."""
        records: list[SpooledRecord] = []
        total = 0
        for tick in self._ticks:
            if tick.sequence >= following or (records and total + len(tick.record) > max_bytes):
                break
            if tick.sequence >= first:
                needs = tuple(definition.digest for definition in tick.definitions)
                records.append(SpooledRecord(tick.sequence, tick.record, needs))
                total += len(tick.record)
        return records

    def definition(self, digest: int) -> Definition | None:
        """As of a file; records share the definitions' objects, so this costs no memory."""
        for tick in reversed(self._ticks):
            for definition in tick.definitions:
                if definition.digest == digest:
                    return definition
        return None

    def forget_before(self, settled: int) -> bool:
        """Settled records leave at once; True when none is left."""
        while self._ticks and self._ticks[0].sequence < settled:
            self.pop()
        return not self._ticks

    def delete(self) -> None:
        """Nothing is left behind."""
        self._ticks.clear()
        self.bytes = 0


Segment = FileSegment | MemorySegment
