"""Stretches: records that follow each other and are built alike, read together for a fraction of what each alone costs.

A stretch says what the door would say of each of its records. Whatever is not plainly alike is left to the door.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from flyball_collector.blocks.block import Booleans, Digests, Integers
from flyball_collector.ingest.door import EXTRAS_BYTES, LATEST_NS
from flyball_collector.ingest.pack import PackedRows
from flyball_collector.tick import KnownLayout
from flyball_proto.v1 import telemetry_pb2 as pb

# What a record's fields begin with: their number in `telemetry.proto` << 3 | their type on the wire.
_SEQUENCE, _TIME, _BOOT, _LAYOUT, _VALUES, _VALIDITY, _UNAVAILABLE, _TENANCY = 8, 17, 25, 33, 42, 50, 57, 65
_FIRST_EXTRA = 9  # field number of what comes after the columns
_CLOCKS = struct.Struct("<BqBqBQB")
_LONGEST = 8  # bytes of a number that is looked into: sequences are below 2^53

_Bytes = NDArray[np.uint8]


class _Shape(NamedTuple):
    """Where things lie in a record whose fields stand in order; its bones are what is neither values nor extras."""

    digest: int
    clocks: int  # in the bones
    values: slice
    validity: slice  # in the bones; empty: every column is known
    unavailable: int | None  # in the bones; `None`: nothing is silent
    tenancy: int | None
    extras: int  # where they begin

    @property
    def width(self) -> int:
        """Of the bones."""
        size: int = self.values.stop - self.values.start
        return self.extras - size


@dataclass(frozen=True, slots=True)
class Stretch:
    """Records of one layout in unbroken sequence, as columns."""

    layout: KnownLayout
    stamps: Integers  # as those of `PackedRows`; the corrected time is not known here
    digests: Digests
    values: list[bytes]
    valid: Booleans | None  # `None`: every column of every row is known
    extras: list[bytes]
    told: list[pb.Record]  # extras with events

    @property
    def first(self) -> int:
        """The sequence that it begins with."""
        return int(self.stamps[0, 0])

    @property
    def following(self) -> int:
        """The one after its last."""
        return self.first + len(self.values)

    def correct(self, corrected: Callable[[int, int, int], int]) -> None:
        """Tell it the collector's time of each sample, by what the agent's clocks and ours said."""
        self.stamps[:, 3] = [corrected(agent, boot, received) for _, agent, boot, _, received in self.stamps.tolist()]

    def blocks(self, ticks: int) -> Iterator[tuple[int, PackedRows]]:
        """Its rows, block by block, with the block's number."""
        for number in range(self.first // ticks, (self.following - 1) // ticks + 1):
            start = number * ticks - self.first
            yield number, self._rows(slice(max(0, start), start + ticks))

    def _rows(self, part: slice) -> PackedRows:
        stamps = self.stamps[part]
        told = zip(stamps[:, 0].tolist(), self.extras[part], strict=True)
        extras = {sequence: extra for sequence, extra in told if extra}
        valid = None if self.valid is None else np.packbits(self.valid[part]).tobytes()
        return PackedRows(self.layout, stamps, self.digests[part], b"".join(self.values[part]), valid, extras, False)


def read_stretch(raws: Sequence[bytes], layouts: Mapping[int, KnownLayout], received_ns: int) -> Stretch | None:
    """The records as a stretch; nothing where they are none, or one of them is not as it should be."""
    shape = _shape(raws[0])
    layout = layouts.get(shape.digest) if shape is not None else None
    if shape is None or layout is None or not _fits(shape, layout.count):
        return None
    bones = _bones(raws, shape)
    extras = [raw[shape.extras :] for raw in raws]
    told = _told(extras)
    if bones is None or told is None:
        return None
    stamps = _stamps(bones, shape, received_ns)
    clocks = stamps[:, 1:3]
    if (np.diff(stamps[:, 0]) != 1).any() or (clocks < 0).any() or (clocks >= LATEST_NS).any():
        return None
    values = [raw[shape.values] for raw in raws]
    return Stretch(layout, stamps, _digests(bones, shape), values, _valid(bones, shape, layout.count), extras, told)


def _shape(raw: bytes) -> _Shape | None:
    try:
        return _walked(raw)
    except (IndexError, struct.error):
        return None


def _walked(raw: bytes) -> _Shape | None:
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
    """A varint, and where it ends."""
    value = 0
    for shift in range(_LONGEST):
        byte = raw[at + shift]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise IndexError


def _fits(shape: _Shape, columns: int) -> bool:
    size, known = shape.values.stop - shape.values.start, shape.validity.stop - shape.validity.start
    return size == 8 * columns and known in {0, (columns + 7) // 8}


def _bones(raws: Sequence[bytes], shape: _Shape) -> _Bytes | None:
    """Record × byte; nothing where a record is not of that shape."""
    values = shape.values
    joined = b"".join([raw[: values.start] + raw[values.stop : shape.extras] for raw in raws])
    if len(joined) != len(raws) * shape.width:
        return None
    bones = np.frombuffer(joined, np.uint8).reshape(len(raws), shape.width)
    alike = np.full(shape.width, 0xFF, dtype=np.uint8)
    alike[1 : shape.clocks] = 0x80  # of a number, how long it is
    for start in (shape.clocks + 1, shape.clocks + 10, shape.unavailable, shape.tenancy):
        if start is not None:
            alike[start : start + 8] = 0
    alike[shape.validity] = 0
    return None if ((bones ^ bones[0]) & alike).any() else bones


def _told(extras: Sequence[bytes]) -> list[pb.Record] | None:
    """Those that tell of events; nothing where one is no more than extras, and as long as it must be."""
    told = []
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
        if record.events:
            told.append(record)
    return told


def _stamps(bones: _Bytes, shape: _Shape, received_ns: int) -> Integers:
    stamps = np.zeros((len(bones), 5), dtype=np.int64)
    numbers = bones[:, 1 : shape.clocks].astype(np.int64) & 0x7F
    stamps[:, 0] = numbers @ (np.int64(1) << 7 * np.arange(numbers.shape[1]))
    stamps[:, 1] = _integers(bones, shape.clocks + 1)
    stamps[:, 2] = _integers(bones, shape.clocks + 10)
    stamps[:, 4] = received_ns
    return stamps


def _digests(bones: _Bytes, shape: _Shape) -> Digests:
    digests = np.zeros((len(bones), 2), dtype=np.uint64)
    for column, start in enumerate((shape.unavailable, shape.tenancy)):
        if start is not None:
            digests[:, column] = _integers(bones, start).view(np.uint64)
    return digests


def _integers(bones: _Bytes, start: int) -> Integers:
    return np.ascontiguousarray(bones[:, start : start + 8]).view(np.dtype("<i8"))[:, 0].astype(np.int64, copy=False)


def _valid(bones: _Bytes, shape: _Shape, columns: int) -> Booleans | None:
    if shape.validity.start == shape.validity.stop:
        return None
    known = np.ascontiguousarray(bones[:, shape.validity])
    return np.unpackbits(known, axis=1, count=columns, bitorder="little").view(np.bool_)
