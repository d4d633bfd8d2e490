"""Segments: consecutive records of one epoch, in a file, or in memory while the disk refuses writes."""

import mmap
import os
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.errors import SpoolDamaged
from flyball_agent.record import Definition, Epoch, TickRecord
from flyball_agent.spool.format import (
    HEADER,
    Damage,
    EntryKind,
    SpooledRecord,
    SpoolEntry,
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

_POINT_EVERY = 16
_EPOCH_EVERY = 64
"""The epoch is repeated after the first record and then after every so many, because a file's head may be damaged."""

_READ_AHEAD_BYTES = 128 * 1024
_CREATE_FLAGS = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(slots=True)
class Index:
    """A sparse index: which sequences a segment has, and their approximate positions."""

    spans: list[list[int]] = field(default_factory=list)
    definitions: dict[int, tuple[int, int]] = field(default_factory=dict)
    count: int = 0
    _sequences: list[int] = field(default_factory=list)
    _offsets: list[int] = field(default_factory=list)

    def add(self, sequence: int, offset: int) -> None:
        if self.spans and self.spans[-1][1] == sequence:
            self.spans[-1][1] += 1
        else:
            self.spans.append([sequence, sequence + 1])
            self._add_point(sequence, offset)
        if self.count % _POINT_EVERY == 0:
            self._add_point(sequence, offset)
        self.count += 1

    def add_entry(self, entry: SpoolEntry) -> Epoch | None:
        """Add an entry of a file. Return the epoch if the entry contains one."""
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
        """Return the position at which a search for a sequence starts."""
        at = bisect_right(self._sequences, sequence) - 1
        return self._offsets[max(0, at)] if self._offsets else 0

    @property
    def ranges(self) -> RangeSet:
        return RangeSet((first, following) for first, following in self.spans)

    @property
    def next(self) -> int:
        return max((span[1] for span in self.spans), default=0)

    def _add_point(self, sequence: int, offset: int) -> None:
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
    def create(cls, directory: Path, epoch: Epoch, tick: TickRecord, boot_ns: int) -> "FileSegment":
        """Create a new file with its first record. If the disk refuses it, raise OSError and leave no file.

        A file of that name can only be left from an attempt that failed, and contains no record.
        """
        path = directory / file_name(epoch, tick.sequence)
        segment = cls(path, epoch, tick.sequence, touched_boot_ns=boot_ns)
        segment.fd = os.open(path, _CREATE_FLAGS, 0o640)
        try:
            segment._write(HEADER + encode_epoch(epoch))
            segment.append(tick, boot_ns)
        except OSError:
            segment.delete()
            raise
        return segment

    @classmethod
    def load(cls, path: Path, first: int, touched_boot_ns: int, epoch: Epoch | None = None) -> "FileSegment":
        """Read a file of an earlier run. `epoch` is used if the file contains no readable epoch."""
        index, damaged, found = Index(), 0, epoch
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            size, end = len(data), entries_start(data)
            for part in scan(data, end):
                if isinstance(part, Damage):
                    damaged += part.end - part.start
                else:
                    found = index.add_entry(part) or found
                    end = part.end
        if found is None:
            raise SpoolDamaged("the file contains no epoch")
        segment = cls(path, found, first, touched_boot_ns=touched_boot_ns)
        segment.index, segment.bytes, segment.damaged_bytes = index, size, damaged
        segment._cut_torn_tail(end)
        return segment

    @property
    def ranges(self) -> RangeSet:
        return self.index.ranges

    @property
    def next(self) -> int:
        return max(self.first, self.index.next)

    def append(self, tick: TickRecord, boot_ns: int) -> None:
        """Write a record and the definitions that it needs in one call. After an OSError the file is unchanged."""
        needed = [definition for definition in tick.definitions if definition.digest not in self.index.definitions]
        again = [encode_epoch(self.epoch)] if self.index.count % _EPOCH_EVERY == 1 else []
        parts = [encode_definition(definition) for definition in needed]
        position = self.bytes + sum(map(len, again))
        self._write(b"".join((*again, *parts, encode_record(tick))))
        for definition, part in zip(needed, parts, strict=True):
            self.index.definitions[definition.digest] = (position, len(part))
            position += len(part)
        self.index.add(tick.sequence, position)
        self.touched_boot_ns = boot_ns

    def read(self, first: int, following: int, max_bytes: int) -> list[SpooledRecord]:
        """Read records of [first, following), at least one if there is one, and about `max_bytes` at most."""
        records: list[SpooledRecord] = []
        total, offset = 0, self.index.offset_before(first)
        size = max_bytes + _READ_AHEAD_BYTES
        with self.path.open("rb", buffering=0) as file:
            while offset < self.bytes:
                data = os.pread(file.fileno(), size, offset)
                position = 0
                for part in scan(data, 0, partial=offset + len(data) < self.bytes):
                    position = part.end
                    record = decode_record(part.body) if isinstance(part, SpoolEntry) and part.kind == 2 else None
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
                    size = longer
                offset += position
        return records

    def definition(self, digest: int) -> Definition | None:
        """Read a definition that records of this segment need."""
        found = self.index.definitions.get(digest)
        if found is None:
            return None
        with self.path.open("rb", buffering=0) as file:
            data = os.pread(file.fileno(), found[1], found[0])
        for part in scan(data, 0):
            if isinstance(part, SpoolEntry):
                return decode_definition(part.body)
        return None

    def forget_before(self, settled: int) -> bool:
        """Return True if the whole segment can be deleted. A file is never shortened from the front."""
        return self.next <= settled

    def close(self) -> int:
        """Stop writing. Return the descriptor, for a last flush."""
        fd, self.fd = self.fd, -1
        return fd

    def delete(self) -> None:
        """Delete the file, if it still exists."""
        if self.fd >= 0:
            os.close(self.close())
        self.path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self.fd, data)
            if written != len(data):  # the disk became full during the write; the next call would report it
                raise OSError(28, "No space left on device")
        except OSError:
            os.ftruncate(self.fd, self.bytes)
            raise
        self.bytes += len(data)

    def _cut_torn_tail(self, end: int) -> None:
        """Cut off the incomplete entry at the end that was being written when the host or agent died."""
        if end < self.bytes and end > 0:
            try:
                os.truncate(self.path, end)
            except OSError:
                return
            self.bytes = end


class MemorySegment:
    """A ring buffer that replaces files while the disk refuses writes. When it is full, it drops the oldest records."""

    def __init__(self, epoch: Epoch, max_bytes: int) -> None:
        self.epoch = epoch
        self.bytes = 0
        self.fd = -1
        self.damaged_bytes = 0
        self.touched_boot_ns = 0
        self._max_bytes = max_bytes
        self._ticks: deque[TickRecord] = deque()

    @property
    def ranges(self) -> RangeSet:
        return RangeSet.of(tick.sequence for tick in self._ticks)

    @property
    def next(self) -> int:
        return self._ticks[-1].sequence + 1 if self._ticks else 0

    def append(self, tick: TickRecord) -> list[int]:
        """Keep a record. Return the sequences that were dropped for it."""
        self._ticks.append(tick)
        self.bytes += len(tick.record)
        dropped: list[int] = []
        while self._ticks and self.bytes > self._max_bytes:
            dropped.append(self.pop().sequence)
        return dropped

    def pop(self) -> TickRecord:
        """Remove and return the oldest record."""
        tick = self._ticks.popleft()
        self.bytes -= len(tick.record)
        return tick

    def peek(self) -> TickRecord | None:
        return self._ticks[0] if self._ticks else None

    def read(self, first: int, following: int, max_bytes: int) -> list[SpooledRecord]:
        """Read records as from a file."""
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
        """Return a definition as from a file. Records share the objects of definitions, so this needs no memory."""
        for tick in reversed(self._ticks):
            for definition in tick.definitions:
                if definition.digest == digest:
                    return definition
        return None

    def forget_before(self, settled: int) -> bool:
        """Drop settled records. Return True if none is left."""
        while self._ticks and self._ticks[0].sequence < settled:
            self.pop()
        return not self._ticks

    def delete(self) -> None:
        """Drop all records."""
        self._ticks.clear()
        self.bytes = 0


Segment = FileSegment | MemorySegment
