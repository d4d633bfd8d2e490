"""The format of a spool file: a header, then entries with a checksum each.

Every entry begins with a mark and has its length and a CRC, so that a reader finds the next valid entry after damage.
A file repeats its epoch at intervals, and each definition before the first record that needs it, so it can be read
without other files and from any position. Its first sequence is a part of its name, where damage cannot reach it.
"""

import mmap
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from google.protobuf.message import DecodeError

from flyball_agent.record import Definition, Epoch, TickRecord
from flyball_proto.v1 import telemetry_pb2 as pb

HEADER = b"FLYSPOOL\x02\x00"
MARK = b"\xfbFb\x0d"
MAX_ENTRY_BYTES = 16 * 1024 * 1024

_NAME = re.compile(r"([0-9a-f]{32})-(\d{12})\.spool")
_ENTRY = struct.Struct("<4sIIB")  # mark, length and CRC (over kind and body), kind
_DEFINITION = struct.Struct("<BQ")  # kind, digest
_RECORD = struct.Struct("<QQQQ")  # sequence, and the digests of the definitions it needs; 0: none

Buffer = bytes | mmap.mmap


class EntryKind(IntEnum):
    """The kind of an entry. A reader skips kinds that it does not know."""

    DEFINITION = 1
    RECORD = 2
    EPOCH = 3


@dataclass(frozen=True, slots=True)
class SpooledRecord:
    """A record from the spool, with the digests of the definitions that it needs."""

    sequence: int
    record: bytes
    needs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpoolEntry:
    """A valid entry and its position."""

    kind: int
    start: int
    end: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are not a valid entry."""

    start: int
    end: int


def file_name(epoch: Epoch, first: int) -> str:
    """Return the name of a file that begins with this sequence. Names sort in the order of sequences."""
    return f"{epoch.name}-{first:012d}.spool"


def parse_file_name(name: str) -> tuple[str, int] | None:
    """Return the epoch's name and the first sequence, or None if the name is not that of a spool file."""
    found = _NAME.fullmatch(name)
    return (found[1], int(found[2])) if found else None


def entries_start(data: Buffer) -> int:
    """Return the position of the first entry. Without a valid header, the search starts at the first byte."""
    return len(HEADER) if data[: len(HEADER)] == HEADER else 0


def encode_epoch(epoch: Epoch) -> bytes:
    """Encode the epoch of the following records."""
    return _encode(EntryKind.EPOCH, epoch.to_message().SerializeToString(deterministic=True))


def decode_epoch(body: bytes) -> Epoch | None:
    """Decode an epoch; return None if it does not parse."""
    try:
        return Epoch.from_message(pb.Epoch.FromString(body))
    except DecodeError:
        return None


def encode_definition(definition: Definition) -> bytes:
    """Encode a definition."""
    return _encode(EntryKind.DEFINITION, _DEFINITION.pack(definition.kind, definition.digest) + definition.body)


def encode_record(tick: TickRecord) -> bytes:
    """Encode a record."""
    needs = [definition.digest for definition in tick.definitions[:3]]
    needs += [0] * (3 - len(needs))
    return _encode(EntryKind.RECORD, _RECORD.pack(tick.sequence, *needs) + tick.record)


def decode_definition(body: bytes) -> Definition | None:
    """Decode a definition; return None if the entry is too short."""
    if len(body) < _DEFINITION.size:
        return None
    kind, digest = _DEFINITION.unpack_from(body)
    return Definition(kind, digest, body[_DEFINITION.size :])


def decode_record(body: bytes) -> SpooledRecord | None:
    """Decode a record; return None if the entry is too short."""
    if len(body) < _RECORD.size:
        return None
    sequence, *needs = _RECORD.unpack_from(body)
    return SpooledRecord(sequence, body[_RECORD.size :], tuple(digest for digest in needs if digest))


def scan(data: Buffer, start: int, *, partial: bool = False) -> Iterator[SpoolEntry | Damage]:
    """Yield every valid entry from `start` on, and the damage between them.

    With `partial`, an unfinished entry at the end does not count as damage.
    """
    position, size = start, len(data)
    while position < size:
        entry = _entry_at(data, position)
        if entry is not None:
            yield entry
            position = entry.end
            continue
        if partial and _is_unfinished(data, position):
            return
        found = data.find(MARK, position + 1)
        while found >= 0 and _entry_at(data, found) is None:
            found = data.find(MARK, found + 1)
        end = found if found >= 0 else size
        yield Damage(position, end)
        position = end


def unfinished_bytes(data: Buffer, position: int) -> int:
    """Return the length that the header of the entry at `position` states, or 0 if there is no entry."""
    if len(data) - position < _ENTRY.size:
        return 0
    mark, length, _crc, _kind = _ENTRY.unpack_from(data, position)
    return _ENTRY.size + length if mark == MARK and length <= MAX_ENTRY_BYTES else 0


def _is_unfinished(data: Buffer, position: int) -> bool:
    length = unfinished_bytes(data, position)
    return len(data) - position < _ENTRY.size or length > len(data) - position


def _encode(kind: EntryKind, body: bytes) -> bytes:
    crc = zlib.crc32(body, zlib.crc32(bytes((kind,))))
    return _ENTRY.pack(MARK, len(body), crc, kind) + body


def _entry_at(data: Buffer, position: int) -> SpoolEntry | None:
    if len(data) - position < _ENTRY.size:
        return None
    mark, length, crc, kind = _ENTRY.unpack_from(data, position)
    end = position + _ENTRY.size + length
    if mark != MARK or length > MAX_ENTRY_BYTES or end > len(data):
        return None
    body = data[position + _ENTRY.size : end]
    if zlib.crc32(body, zlib.crc32(bytes((kind,)))) != crc:
        return None
    return SpoolEntry(kind, position, end, body)
