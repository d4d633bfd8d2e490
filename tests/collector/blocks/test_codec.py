"""Encoding and decoding of any rows, and refusal of invalid bytes."""

import struct
import tracemalloc

import numpy as np
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from flyball_collector.blocks import frame
from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.codec import decode, decode_columns, encode
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.testing import rows, small_layout

INT64 = st.integers(-(2**63), 2**63 - 1)
DIGESTS = st.sampled_from([0, 1, 2**64 - 1])
# Typical values: noise, counters, constants, multiples, extremes.
VALUES = st.one_of(INT64, st.integers(-3, 3), st.integers(0, 2**20).map(lambda n: n * 4096), st.just(7))


@st.composite
def groups(draw: st.DrawFn, layout: int = 1) -> RowGroup:
    records, columns = draw(st.integers(1, 20)), draw(st.integers(0, 6))
    numbers = draw(st.sets(st.integers(0, 2**40), min_size=records, max_size=records))
    sequences = np.array(sorted(numbers), dtype=np.int64)
    valid = draw(arrays(np.bool_, (records, columns)))
    values = draw(arrays(np.int64, (records, columns), elements=VALUES))
    times = [draw(arrays(np.int64, records, elements=INT64)) for _ in range(4)]
    digests = [draw(arrays(np.uint64, records, elements=DIGESTS)) for _ in range(2)]
    extras = draw(st.dictionaries(st.sampled_from(sequences.tolist()), st.binary(max_size=50), max_size=5))
    known = np.where(valid, values, 0)
    return RowGroup(
        layout, sequences, times[0], times[1], times[2], times[3], digests[0], digests[1], known, valid, extras
    )


def same(a: RowGroup, b: RowGroup) -> bool:
    arrays_equal = all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in (
            "sequences",
            "agent_ns",
            "boot_ns",
            "corrected_ns",
            "received_ns",
            "unavailable",
            "tenancy",
            "values",
        )
    )
    return arrays_equal and np.array_equal(a.valid, b.valid) and (a.layout, a.extras) == (b.layout, b.extras)


@settings(max_examples=40)
@given(st.lists(groups(), max_size=2))
def test_any_rows_are_restored(many: list[RowGroup]) -> None:
    """Decoding restores all 64-bit values, gaps, several layouts and extras."""
    decoded = decode(encode(many))
    assert len(decoded) == len(many)
    assert all(map(same, decoded, many))


@given(arrays(np.int64, st.tuples(st.integers(1, 70), st.integers(1, 5)), elements=VALUES), st.data())
def test_unknown_cells_are_restored_as_zero(values: NDArray[np.int64], data: st.DataObject) -> None:
    """An unknown cell carries no value, whatever it was."""
    valid = data.draw(arrays(np.bool_, values.shape))
    group = _of_values(values, valid)
    (decoded,) = decode(encode([group]))
    np.testing.assert_array_equal(decoded.values, np.where(valid, values, 0))
    np.testing.assert_array_equal(decoded.valid, valid)


def _of_values(values: NDArray[np.int64], valid: NDArray[np.bool_]) -> RowGroup:
    count = len(values)
    zeros, digests = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.uint64)
    return RowGroup(5, np.arange(count), zeros, zeros, zeros, zeros, digests, digests, values, valid)


@given(groups(), st.data())
def test_only_the_wanted_columns_are_decoded(group: RowGroup, data: st.DataObject) -> None:
    """Picked columns come in the requested order and equal those of a full decode."""
    columns = group.values.shape[1]
    pick = np.array(
        data.draw(st.lists(st.integers(0, columns - 1), max_size=6) if columns else st.just([])), dtype=np.intp
    )
    (decoded,) = decode_columns(encode([group]), lambda _: pick)
    np.testing.assert_array_equal(decoded.values, group.values[:, pick])
    np.testing.assert_array_equal(decoded.valid, group.valid[:, pick])
    np.testing.assert_array_equal(decoded.received_ns, group.received_ns)


def test_equal_rows_give_equal_bytes() -> None:
    """Encoding is deterministic, so that stores can compare payloads."""
    layout = small_layout()
    assert encode([rows(layout, range(60))]) == encode([rows(layout, range(60))])


def test_steady_readings_take_almost_no_space() -> None:
    """Constants, ramps and multiples take bytes for each column, not for each reading."""
    ticks = np.arange(60)[:, None]
    columns = np.arange(100)[None, :]
    values = np.concatenate((ticks * 0 + columns * 10**12, ticks * columns * 4096 + 2**60), axis=1)
    group = _of_values(values, np.ones(values.shape, dtype=np.bool_))
    assert len(encode([group])) < 6 * values.shape[1]


@given(st.binary(max_size=200))
@example(b"")
@example(b"FB\x01")
def test_bytes_that_are_not_a_block_are_refused(damaged: bytes) -> None:
    """They raise `BlockError`, never another exception."""
    with pytest.raises(BlockError):
        decode(damaged)


@given(st.data())
def test_damage_is_detected(data: st.DataObject) -> None:
    """A missing byte is an error; so is a changed one, unless it is a spare bit of a zstd header."""
    whole = rows(small_layout(), range(60))
    payload = bytearray(encode([whole]))
    place = data.draw(st.integers(0, len(payload) - 1))
    with pytest.raises(BlockError):
        decode(bytes(payload[:place]))
    payload[place] ^= data.draw(st.integers(1, 255))
    try:
        (decoded,) = decode(bytes(payload))
    except BlockError:
        return
    assert same(decoded, whole)


@given(st.binary(max_size=300))
def test_hostile_content_is_refused(content: bytes) -> None:
    """Correctly sealed nonsense raises `BlockError` and uses little memory."""
    with pytest.raises(BlockError):
        decode(frame.seal([b"\x01\0\0\0", content]))


@given(st.integers(0, 2000), st.integers(0, 255))
def test_a_sealed_block_with_a_wrong_byte_is_an_error_or_a_block(place: int, byte: int) -> None:
    """Damage below the checksum, made on purpose, gives `BlockError` or rows, and nothing else."""
    raw = bytearray(frame.unseal(encode([rows(small_layout(), range(60), extras={3: b"abc"})])))
    raw[place % len(raw)] = byte
    try:
        decode(frame.seal([bytes(raw)]))
    except BlockError:
        return


def test_a_decompression_bomb_is_refused() -> None:
    """A frame that expands beyond its header, or claims too much, is refused before it uses the memory."""
    zeros = zstandard.ZstdCompressor().compress(bytes(96 * 1024 * 1024))
    tracemalloc.start()
    for claimed in (1024, frame.MAX_BYTES, frame.MAX_BYTES + 1):
        with pytest.raises(BlockError, match=r"claims|limit"):
            decode(struct.pack("<2sBI", b"FB", 1, claimed) + zeros)
    rows_bomb = struct.pack("<IQIII", 1, 0, 2**31, 1000, 0)
    with pytest.raises(BlockError, match="the limit is"):
        decode(frame.seal([rows_bomb]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * frame.MAX_BYTES


def test_a_newer_format_is_refused() -> None:
    """The message asks for an upgrade."""
    payload = bytearray(encode([]))
    payload[2] = 9
    with pytest.raises(BlockError, match="format 9, this version of Flyball reads up to 1: upgrade"):
        decode(bytes(payload))


def test_a_group_without_rows_is_refused() -> None:
    """A group needs at least one row."""
    with pytest.raises(BlockError, match="leave it out"):
        encode([rows(small_layout(), [])])
