"""The bytes of a spool file: a few that tell its kind, then entries that each prove themselves.

Every entry begins with a mark and carries its length and a CRC, so that a reader finds the next good entry behind
damage. A file says its epoch now and then, and repeats each definition before the first record that needs it: it can
be read alone, and from anywhere. The first sequence that it was begun with stands in its name, out of the damage's way.
"""

import mmap
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from google.protobuf.message import DecodeError

from flyball_agent.record import Definition, Epoch, Tick
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
    """What an entry holds; a kind that a reader does not know is skipped."""

    DEFINITION = 1
    RECORD = 2
    EPOCH = 3


@dataclass(frozen=True, slots=True)
class SpooledRecord:
    """A record read back, with the digests of the definitions that it needs."""

    sequence: int
    record: bytes
    needs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One good entry, and where it lies."""

    kind: int
    start: int
    end: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no entry."""

    start: int
    end: int


def file_name(epoch: Epoch, first: int) -> str:
    """How a file is called that begins with this sequence; names sort as the sequences do."""
    return f"{epoch.name}-{first:012d}.spool"


def parse_file_name(name: str) -> tuple[str, int] | None:
    """The epoch's name and the first sequence; None for a foreign file."""
    found = _NAME.fullmatch(name)
    return (found[1], int(found[2])) if found else None


def entries_start(data: Buffer) -> int:
    """Where the entries begin; a header that is damaged, or none, is looked into as if it were entries."""
    return len(HEADER) if data[: len(HEADER)] == HEADER else 0


def encode_epoch(epoch: Epoch) -> bytes:
    """An entry that says whose records these are."""
    return _encode(EntryKind.EPOCH, epoch.to_message().SerializeToString(deterministic=True))


def decode_epoch(body: bytes) -> Epoch | None:
    """The epoch in an entry; None when it does not parse."""
    try:
        return Epoch.from_message(pb.Epoch.FromString(body))
    except DecodeError:
        return None


def encode_definition(definition: Definition) -> bytes:
    """An entry that describes what records refer to."""
    return _encode(EntryKind.DEFINITION, _DEFINITION.pack(definition.kind, definition.digest) + definition.body)


def encode_record(tick: Tick) -> bytes:
    """An entry that holds one record."""
    needs = [definition.digest for definition in tick.definitions[:3]]
    needs += [0] * (3 - len(needs))
    return _encode(EntryKind.RECORD, _RECORD.pack(tick.sequence, *needs) + tick.record)


def decode_definition(body: bytes) -> Definition | None:
    """The definition in an entry; None when it is too short to be one."""
    if len(body) < _DEFINITION.size:
        return None
    kind, digest = _DEFINITION.unpack_from(body)
    return Definition(kind, digest, body[_DEFINITION.size :])


def decode_record(body: bytes) -> SpooledRecord | None:
    """The record in an entry; None when it is too short to be one."""
    if len(body) < _RECORD.size:
        return None
    sequence, *needs = _RECORD.unpack_from(body)
    return SpooledRecord(sequence, body[_RECORD.size :], tuple(digest for digest in needs if digest))


def scan(data: Buffer, start: int, *, partial: bool = False) -> Iterator[Entry | Damage]:
    """Every good entry from `start` on, and the damage between; with `partial`, an unfinished end is no damage."""
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
    """How long the entry at `position` claims to be; 0 when there is none."""
    if len(data) - position < _ENTRY.size:
        return 0
    mark, length, _crc, _kind = _ENTRY.unpack_from(data, position)
    return _ENTRY.size + length if mark == MARK and length <= MAX_ENTRY_BYTES else 0


def _is_unfinished(data: Buffer, position: int) -> bool:
    claimed = unfinished_bytes(data, position)
    return len(data) - position < _ENTRY.size or claimed > len(data) - position


def _encode(kind: EntryKind, body: bytes) -> bytes:
    crc = zlib.crc32(body, zlib.crc32(bytes((kind,))))
    return _ENTRY.pack(MARK, len(body), crc, kind) + body


def _entry_at(data: Buffer, position: int) -> Entry | None:
    if len(data) - position < _ENTRY.size:
        return None
    mark, length, crc, kind = _ENTRY.unpack_from(data, position)
    end = position + _ENTRY.size + length
    if mark != MARK or length > MAX_ENTRY_BYTES or end > len(data):
        return None
    body = data[position + _ENTRY.size : end]
    if zlib.crc32(body, zlib.crc32(bytes((kind,)))) != crc:
        return None
    return Entry(kind, position, end, body)
