"""Encodes the rows of a block: columnar, predicted, in byte planes, zstd (`matrix.py`, `frame.py`).

Unknown cells carry no value: after decoding they are 0, whatever they were before.
"""

import struct
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.bytes_reader import BytesReader
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.frame import seal, unseal
from flyball_collector.blocks.matrix import MatrixReader, write_matrices

MAX_CELLS = 8 * 1024 * 1024  # records × columns of one block, which limits the memory for decoding, at 8 bytes each

Pick = Callable[[int], NDArray[np.intp]]  # layout → positions of the wanted columns
Admit = Callable[[int, int], None]  # records, columns; raises if they are too many

_GROUPS = struct.Struct("<I")
_GROUP = struct.Struct("<QIII")  # layout, records, columns, extras
_SOME, _ALL, _NONE = 0, 1, 2  # which cells of a column are known


def encode(groups: Sequence[RowGroup]) -> bytes:
    """Encode rows. Equal rows give equal bytes."""
    return seal(_sections(groups))


def decode(payload: bytes, admit: Admit | None = None) -> tuple[RowGroup, ...]:
    """Decode what `encode` returned. `admit` is called with the size of each group before memory is used for it."""
    return _decode(payload, None, admit)


def decode_columns(payload: bytes, pick: Pick) -> tuple[RowGroup, ...]:
    """Decode only the columns that `pick` returns for each layout, in its order."""
    return _decode(payload, pick)


def _decode(payload: bytes, pick: Pick | None, admit: Admit | None = None) -> tuple[RowGroup, ...]:
    reader = BytesReader(unseal(payload))
    (count,) = _GROUPS.unpack(reader.bytes(_GROUPS.size))
    groups = tuple(_read_group(reader, pick, admit) for _ in range(count))
    if reader.left:
        raise BlockError(f"encoded block: {reader.left} extra bytes after the last group; the data are damaged")
    return groups


def _sections(groups: Sequence[RowGroup]) -> Iterator[bytes]:
    yield _GROUPS.pack(len(groups))
    for group in groups:
        yield from _group_sections(group)


def _group_sections(group: RowGroup) -> Iterator[bytes]:
    records, columns = group.values.shape
    if not records:
        raise BlockError("cannot encode an empty group of rows: leave it out")
    known = np.ascontiguousarray(group.valid.T)
    status = _statuses(known)
    values = _filled(np.array(group.values.T, order="C"), known, status)
    times, readings = write_matrices(_times(group), values)
    head = _GROUP.pack(group.layout, records, columns, len(group.extras))
    yield head + _runs(group.unavailable) + _runs(group.tenancy)
    yield from times
    yield status.tobytes()
    yield np.packbits(known[status == _SOME]).tobytes()
    yield from readings
    yield from _extras_sections(group)


def _times(group: RowGroup) -> NDArray[np.int64]:
    """Return each clock relative to another one, because the differences hardly change."""
    return np.stack(
        (
            group.sequences,
            group.agent_ns,
            group.boot_ns - group.agent_ns,
            group.corrected_ns - group.boot_ns,
            group.received_ns - group.corrected_ns,
        )
    )


def _statuses(known: NDArray[np.bool_]) -> NDArray[np.uint8]:
    status = np.full(len(known), _ALL, dtype=np.uint8)
    if known.all():
        return status
    status[~known.all(axis=1)] = _SOME
    status[~known.any(axis=1)] = _NONE
    return status


def _filled(values: NDArray[np.int64], known: NDArray[np.bool_], status: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Fill unknown cells in place with the previous known value (the first also backwards): that compresses well."""
    values[status == _NONE] = 0
    some = np.flatnonzero(status == _SOME)
    if len(some):
        mask = known[some]
        places = np.where(mask, np.arange(mask.shape[1]), 0)
        places = np.maximum(np.maximum.accumulate(places, axis=1), mask.argmax(axis=1)[:, None])
        values[some] = np.take_along_axis(values[some], places, axis=1)
    return values


def _runs(digests: NDArray[np.uint64]) -> bytes:
    """Encode digests as runs, because they change a few times a day."""
    starts = np.concatenate(([0], np.flatnonzero(digests[1:] != digests[:-1]) + 1))
    return b"".join(
        (
            np.uint32(len(starts)).tobytes(),
            starts.astype("<u4").tobytes(),
            digests[starts].astype("<u8").tobytes(),
        )
    )


def _extras_sections(group: RowGroup) -> Iterator[bytes]:
    sequences = sorted(group.extras)
    yield np.array(sequences, dtype="<i8").tobytes()
    yield np.array([len(group.extras[sequence]) for sequence in sequences], dtype="<u4").tobytes()
    yield b"".join(group.extras[sequence] for sequence in sequences)


def _read_group(reader: BytesReader, pick: Pick | None, admit: Admit | None) -> RowGroup:
    layout, records, columns, extras = _GROUP.unpack(reader.bytes(_GROUP.size))
    if not records or records * (columns + 5) > MAX_CELLS:
        size = f"{records} records × {columns} columns"
        raise BlockError(f"encoded block: a group of {size}; the limit is {MAX_CELLS} cells")
    if extras > records:
        raise BlockError(f"encoded block: {extras} extras of {records} records; the data are damaged")
    if admit is not None:
        admit(records, columns)
    unavailable, tenancy = _read_runs(reader, records), _read_runs(reader, records)
    sequences, agent_ns, boot, corrected, received = MatrixReader(reader, 5, records).read()
    known = _read_known(reader, records, columns)
    matrix = MatrixReader(reader, columns, records)
    rows = None if pick is None else pick(layout)
    known = known if rows is None else known[rows]
    values = matrix.read(rows)
    values[~known] = 0
    return RowGroup(
        layout=layout,
        sequences=sequences,
        agent_ns=agent_ns,
        boot_ns=(boot_ns := boot + agent_ns),
        corrected_ns=(corrected_ns := corrected + boot_ns),
        received_ns=received + corrected_ns,
        unavailable=unavailable,
        tenancy=tenancy,
        values=np.ascontiguousarray(values.T),
        valid=np.ascontiguousarray(known.T),
        extras=_read_extras(reader, extras),
    )


def _read_runs(reader: BytesReader, records: int) -> NDArray[np.uint64]:
    count = int(reader.array("<u4", 1)[0])
    starts = reader.array("<u4", count).astype(np.int64)
    digests = reader.array("<u8", count).astype(np.uint64)
    if count == 1 and starts[0] == 0:
        return np.full(records, digests[0])
    lengths = np.diff(starts, append=records)
    if not count or starts[0] != 0 or (lengths <= 0).any():
        raise BlockError("encoded block: invalid runs of digests; the data are damaged")
    return np.repeat(digests, lengths)


def _read_known(reader: BytesReader, records: int, columns: int) -> NDArray[np.bool_]:
    status = reader.array(np.uint8, columns)
    known = np.zeros((columns, records), dtype=np.bool_)
    known[status == _ALL] = True
    some = np.flatnonzero(status == _SOME)
    bits = reader.array(np.uint8, (len(some) * records + 7) // 8)
    known[some] = np.unpackbits(bits, count=len(some) * records).reshape(-1, records).astype(np.bool_)
    return known


def _read_extras(reader: BytesReader, count: int) -> dict[int, bytes]:
    sequences = reader.array("<i8", count).tolist()
    ends = np.cumsum(reader.array("<u4", count), dtype=np.int64).tolist()
    body = reader.bytes(ends[-1] if ends else 0)
    return {sequence: body[start:end] for sequence, start, end in zip(sequences, [0, *ends], ends, strict=False)}
