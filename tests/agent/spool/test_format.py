"""The bytes of spool files survive damage, and rubbish never does more than be skipped."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.spool.format import (
    Damage,
    Entry,
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
    """Sequences of all good records."""
    records = (decode_record(part.body) for part in scan(data, 0) if isinstance(part, Entry) and part.kind == 2)
    return [record.sequence for record in records if record is not None]


def test_an_entry_names_the_epoch() -> None:
    """What was written is read back."""
    (entry,) = scan(encode_epoch(an_epoch(7)), 0)
    assert isinstance(entry, Entry)
    assert decode_epoch(entry.body) == an_epoch(7)


def test_a_file_name_tells_epoch_and_first_sequence() -> None:
    """And names sort as the sequences do; other names are foreign."""
    names = [file_name(an_epoch(7), first) for first in (0, 99, 100, 10**9)]
    assert [parse_file_name(name) for name in names] == [(an_epoch(7).name, first) for first in (0, 99, 100, 10**9)]
    assert sorted(names) == names
    assert parse_file_name("notes.txt") is None


def test_entries_are_read_back() -> None:
    """Records and definitions come back as they were."""
    tick = a_tick(5)
    data = encode_definition(tick.definitions[0]) + encode_record(tick)
    parts = [part for part in scan(data, 0) if isinstance(part, Entry)]
    assert decode_definition(parts[0].body) == tick.definitions[0]
    record = decode_record(parts[1].body)
    assert record is not None
    assert (record.sequence, record.record) == (5, tick.record)
    assert record.needs == (tick.definitions[0].digest,)


@given(st.integers(0, 2000), st.integers(1, 300), st.binary(max_size=300))
def test_damage_costs_only_the_entries_that_it_touches(start: int, length: int, rubbish: bytes) -> None:
    """Whatever overwrites a stretch of a file, the records outside are still read."""
    entries = [encode_record(a_tick(sequence)) for sequence in range(10)]
    data = b"".join(entries)
    start = min(start, len(data) - 1)
    end = min(start + length, len(data))
    spared, position = [], 0
    for sequence, entry in enumerate(entries):
        if position + len(entry) <= start or position >= end:
            spared.append(sequence)
        position += len(entry)
    assert set(the_sequences(data[:start] + rubbish + data[end:])) >= set(spared)


@given(st.binary(max_size=2000))
def test_scanning_rubbish_ends(data: bytes) -> None:
    """Any bytes at all are divided into entries and damage, without a gap."""
    position = 0
    for part in scan(data, 0):
        assert isinstance(part, Entry | Damage)
        start = part.start
        assert start == position
        position = part.end
    assert position == len(data)
