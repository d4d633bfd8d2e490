"""Batches of consecutive records with the same shape, read together for a fraction of the cost of single records.

A batch gives the same result as `RecordReader` for each record. Records without a common shape are left to the reader.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from flyball_collector.blocks.block import Booleans, Digests, Integers
from flyball_collector.ingest.packed_rows import PackedRows
from flyball_collector.ingest.record_reader import EXTRAS_BYTES, LATEST_NS
from flyball_collector.tick import KnownLayout
from flyball_proto.v1 import telemetry_pb2 as pb

# The tags of a record's fields: the field number in `telemetry.proto` << 3 | the wire type.
_SEQUENCE, _TIME, _BOOT, _LAYOUT, _VALUES, _VALIDITY, _UNAVAILABLE, _TENANCY = 8, 17, 25, 33, 42, 50, 57, 65
_FIRST_EXTRA = 9  # the first field number after the columns
_CLOCKS = struct.Struct("<BqBqBQB")
_VARINT_BYTES = 8  # bytes of a varint that is decoded: sequences are below 2^53

_Bytes = NDArray[np.uint8]


class _Shape(NamedTuple):
    """Offsets in a record whose fields are in order. The frame is the part that is neither values nor extras."""

    digest: int
    clocks: int  # in the frame
    values: slice
    validity: slice  # in the frame; empty: every column is known
    unavailable: int | None  # in the frame; `None`: every metric is available
    tenancy: int | None
    extras: int  # where they begin

    @property
    def width(self) -> int:
        """Return the size of the frame."""
        size: int = self.values.stop - self.values.start
        return self.extras - size


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Consecutive records of one layout, as columns."""

    layout: KnownLayout
    stamps: Integers  # as in `PackedRows`; the corrected time is set later
    digests: Digests
    values: list[bytes]
    valid: Booleans | None  # `None`: every column of every row is known
    extras: list[bytes]
    event_records: list[pb.Record]  # extras with events or outcomes of adjustments

    @property
    def first(self) -> int:
        """Return the first sequence."""
        return int(self.stamps[0, 0])

    @property
    def following(self) -> int:
        """Return the sequence after the last."""
        return self.first + len(self.values)

    def correct(self, corrected: Callable[[int, int, int], int]) -> None:
        """Set the collector's time of each sample with `corrected(agent, boot, received)`."""
        self.stamps[:, 3] = [corrected(agent, boot, received) for _, agent, boot, _, received in self.stamps.tolist()]

    def blocks(self, ticks: int) -> Iterator[tuple[int, PackedRows]]:
        """Yield the rows of each block with the block's number."""
        for number in range(self.first // ticks, (self.following - 1) // ticks + 1):
            start = number * ticks - self.first
            yield number, self._rows(slice(max(0, start), start + ticks))

    def _rows(self, part: slice) -> PackedRows:
        stamps = self.stamps[part]
        by_sequence = zip(stamps[:, 0].tolist(), self.extras[part], strict=True)
        extras = {sequence: extra for sequence, extra in by_sequence if extra}
        valid = None if self.valid is None else np.packbits(self.valid[part]).tobytes()
        return PackedRows(self.layout, stamps, self.digests[part], b"".join(self.values[part]), valid, extras, False)


def read_batch(raws: Sequence[bytes], layouts: Mapping[int, KnownLayout], received_ns: int) -> RecordBatch | None:
    """Return the records as a batch, or `None` if they do not share a shape or one of them is invalid."""
    shape = _shape(raws[0])
    layout = layouts.get(shape.digest) if shape is not None else None
    if shape is None or layout is None or not _fits(shape, layout.count):
        return None
    frames = _frames(raws, shape)
    extras = [raw[shape.extras :] for raw in raws]
    event_records = _event_records(extras)
    if frames is None or event_records is None:
        return None
    stamps = _stamps(frames, shape, received_ns)
    clocks = stamps[:, 1:3]
    if (np.diff(stamps[:, 0]) != 1).any() or (clocks < 0).any() or (clocks >= LATEST_NS).any():
        return None
    values = [raw[shape.values] for raw in raws]
    digests, valid = _digests(frames, shape), _valid(frames, shape, layout.count)
    return RecordBatch(layout, stamps, digests, values, valid, extras, event_records)


def _shape(raw: bytes) -> _Shape | None:
    try:
        return _read_shape(raw)
    except (IndexError, struct.error):
        return None


def _read_shape(raw: bytes) -> _Shape | None:
    if raw[0] != _SEQUENCE:
        return None
    _, clocks = _number(raw, 1)
    time, _, boot, _, layout, digest, values_tag = _CLOCKS.unpack_from(raw, clocks)
    if (time, boot, layout, values_tag) != (_TIME, _BOOT, _LAYOUT, _VALUES):
        return None
    size, start = _number(raw, clocks + _CLOCKS.size)
    values = slice(start, at := start + size)
    validity, unavailable, tenancy = slice(0, 0), None, None
    if raw[at : at + 1] == bytes((_VALIDITY,)):
        length, first = _number(raw, at + 1)
        at = first + length
        validity = slice(first - size, at - size)
    if raw[at : at + 1] == bytes((_UNAVAILABLE,)):
        unavailable, at = at + 1 - size, at + 9
    if raw[at : at + 1] == bytes((_TENANCY,)):
        tenancy, at = at + 1 - size, at + 9
    return _Shape(digest, clocks, values, validity, unavailable, tenancy, at)


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a varint and the offset after it."""
    value = 0
    for shift in range(_VARINT_BYTES):
        byte = raw[at + shift]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise IndexError


def _fits(shape: _Shape, columns: int) -> bool:
    size, known = shape.values.stop - shape.values.start, shape.validity.stop - shape.validity.start
    return size == 8 * columns and known in {0, (columns + 7) // 8}


def _frames(raws: Sequence[bytes], shape: _Shape) -> _Bytes | None:
    """Return the frames as record × byte, or `None` if a record has another shape."""
    values = shape.values
    joined = b"".join([raw[: values.start] + raw[values.stop : shape.extras] for raw in raws])
    if len(joined) != len(raws) * shape.width:
        return None
    frames = np.frombuffer(joined, np.uint8).reshape(len(raws), shape.width)
    fixed = np.full(shape.width, 0xFF, dtype=np.uint8)
    fixed[1 : shape.clocks] = 0x80  # the length of the varint
    for start in (shape.clocks + 1, shape.clocks + 10, shape.unavailable, shape.tenancy):
        if start is not None:
            fixed[start : start + 8] = 0
    fixed[shape.validity] = 0
    return None if ((frames ^ frames[0]) & fixed).any() else frames


def _event_records(extras: Sequence[bytes]) -> list[pb.Record] | None:
    """Return the extras with events or outcomes of adjustments, or `None` if one has other fields, or is too long."""
    found = []
    for extra in filter(None, dict.fromkeys(extras)):
        try:
            record = pb.Record.FromString(extra)
        except DecodeError:
            return None
        fields = record.ListFields()
        if not fields or fields[0][0].number < _FIRST_EXTRA or record.ByteSize() != len(extra):
            return None
        if len(extra) > EXTRAS_BYTES:
            return None
        if record.events or record.adjustments:
            found.append(record)
    return found


def _stamps(frames: _Bytes, shape: _Shape, received_ns: int) -> Integers:
    stamps = np.zeros((len(frames), 5), dtype=np.int64)
    numbers = frames[:, 1 : shape.clocks].astype(np.int64) & 0x7F
    stamps[:, 0] = numbers @ (np.int64(1) << 7 * np.arange(numbers.shape[1]))
    stamps[:, 1] = _integers(frames, shape.clocks + 1)
    stamps[:, 2] = _integers(frames, shape.clocks + 10)
    stamps[:, 4] = received_ns
    return stamps


def _digests(frames: _Bytes, shape: _Shape) -> Digests:
    digests = np.zeros((len(frames), 2), dtype=np.uint64)
    for column, start in enumerate((shape.unavailable, shape.tenancy)):
        if start is not None:
            digests[:, column] = _integers(frames, start).view(np.uint64)
    return digests


def _integers(frames: _Bytes, start: int) -> Integers:
    return np.ascontiguousarray(frames[:, start : start + 8]).view(np.dtype("<i8"))[:, 0].astype(np.int64, copy=False)


def _valid(frames: _Bytes, shape: _Shape, columns: int) -> Booleans | None:
    if shape.validity.start == shape.validity.stop:
        return None
    known = np.ascontiguousarray(frames[:, shape.validity])
    return np.unpackbits(known, axis=1, count=columns, bitorder="little").view(np.bool_)
