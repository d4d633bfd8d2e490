"""Tests of the spool file format: damage is skipped, and valid entries are read."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.spool.format import (
    Damage,
    SpoolEntry,
    decode_definition,
    decode_epoch,
    decode_record,
    encode_definition,
    encode_epoch,
    encode_record,
    file_name,
    parse_file_name,
    scan,
)
from flyball_agent.spool.testing import a_tick, an_epoch


def the_sequences(data: bytes) -> list[int]:
    """Return the sequences of all valid records."""
    records = (decode_record(part.body) for part in scan(data, 0) if isinstance(part, SpoolEntry) and part.kind == 2)
    return [record.sequence for record in records if record is not None]


def test_an_epoch_is_read_back() -> None:
    """An encoded epoch is decoded unchanged."""
    (entry,) = scan(encode_epoch(an_epoch(7)), 0)
    assert isinstance(entry, SpoolEntry)
    assert decode_epoch(entry.body) == an_epoch(7)


def test_a_file_name_contains_epoch_and_first_sequence() -> None:
    """Names sort in the order of sequences, and other names are not parsed."""
    names = [file_name(an_epoch(7), first) for first in (0, 99, 100, 10**9)]
    assert [parse_file_name(name) for name in names] == [(an_epoch(7).name, first) for first in (0, 99, 100, 10**9)]
    assert sorted(names) == names
    assert parse_file_name("notes.txt") is None


def test_entries_are_read_back() -> None:
    """Records and definitions are decoded unchanged."""
    tick = a_tick(5)
    data = encode_definition(tick.definitions[0]) + encode_record(tick)
    parts = [part for part in scan(data, 0) if isinstance(part, SpoolEntry)]
    assert decode_definition(parts[0].body) == tick.definitions[0]
    record = decode_record(parts[1].body)
    assert record is not None
    assert (record.sequence, record.record) == (5, tick.record)
    assert record.needs == (tick.definitions[0].digest,)


@given(st.integers(0, 2000), st.integers(1, 300), st.binary(max_size=300))
def test_damage_affects_only_the_overwritten_entries(start: int, length: int, garbage: bytes) -> None:
    """After any overwrite of a part of a file, the records outside it are read."""
    entries = [encode_record(a_tick(sequence)) for sequence in range(10)]
    data = b"".join(entries)
    start = min(start, len(data) - 1)
    end = min(start + length, len(data))
    spared, position = [], 0
    for sequence, entry in enumerate(entries):
        if position + len(entry) <= start or position >= end:
            spared.append(sequence)
        position += len(entry)
    assert set(the_sequences(data[:start] + garbage + data[end:])) >= set(spared)


@given(st.binary(max_size=2000))
def test_any_bytes_can_be_scanned(data: bytes) -> None:
    """Any bytes are divided into entries and damage without gaps."""
    position = 0
    for part in scan(data, 0):
        assert isinstance(part, SpoolEntry | Damage)
        start = part.start
        assert start == position
        position = part.end
    assert position == len(data)
