"""Record batches: together, records give the same result as one by one, or they are not a batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.ingest.packed_rows import row_groups
from flyball_collector.ingest.record_batch import RecordBatch, read_batch
from flyball_collector.ingest.record_reader import RecordReader
from flyball_collector.ingest.rejection import Malformed
from flyball_collector.testing import START_NS, make_layout, make_record
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT, OTHER = make_layout(11), make_layout(4)
LAYOUTS = {layout.digest: KnownLayout(layout) for layout in (LAYOUT, OTHER)}
EPOCH = b"e" * 16
RECEIVED_NS = START_NS + 10**12
EXTRAS: tuple[dict[str, Any], ...] = (
    {},
    {"events": [pb.HostEvent(kind="oom_kill", time_ns=5)]},
    {"steps": [pb.StepReport(run="r", step=5, section_seconds={"data": 1.0, "forward": 2.0})]},
    {"gpu_processes": [pb.GpuProcess(gpu="GPU-1", pid=7)], "steps": [pb.StepReport(run="r", rank=1)]},
)
rows = st.tuples(
    st.lists(st.none() | st.integers(-(2**40), 2**40).map(float), min_size=11, max_size=11),
    st.sampled_from([0, 7, 2**64 - 1]),
    st.sampled_from([0, 9]),
    st.sampled_from(EXTRAS),
)


def record(sequence: int, row: tuple[list[float | None], int, int, dict[str, Any]]) -> bytes:
    values, unavailable, tenancy, extras = row
    return make_record(sequence, LAYOUT, values, interval_ms=0, unavailable=unavailable, tenancy=tenancy, **extras)


def read_singly(raws: Sequence[bytes]) -> list[Tick]:
    return [RecordReader("host1", LAYOUTS).read(raw, EPOCH, RECEIVED_NS) for raw in raws]


def assert_agrees(batch: RecordBatch, ticks: Sequence[Tick], block_ticks: int) -> None:
    """Check that every row of the batch is in its block and equals the reader's tick."""
    found: dict[int, int] = {}
    for number, packed in batch.blocks(block_ticks):
        [group] = row_groups([packed], ())
        for row, sequence in enumerate(group.sequences.tolist()):
            assert sequence // block_ticks == number
            tick = ticks[sequence - batch.first]
            known = tick.valid if tick.valid is not None else np.ones(tick.layout.count, np.bool_)
            assert np.array_equal(group.values[row], tick.values)
            assert np.array_equal(group.valid[row], known)
            stamps = (tick.sequence, tick.agent_ns, tick.boot_ns, tick.received_ns, tick.unavailable, tick.tenancy)
            assert stamps == (
                sequence, group.agent_ns[row], group.boot_ns[row], group.received_ns[row], group.unavailable[row],
                group.tenancy[row],
            )  # fmt: skip
            extras = pb.Record.FromString(group.extras.get(sequence, b""))
            assert extras == pb.Record.FromString(tick.extras)
            found[sequence] = found.get(sequence, 0) + 1
    assert found == dict.fromkeys((tick.sequence for tick in ticks), 1)


@given(st.lists(rows, min_size=1, max_size=20), st.integers(0, 2**53), st.sampled_from([1, 6, 60]))
def test_a_batch_gives_the_same_as_its_records(
    content: list[tuple[list[float | None], int, int, dict[str, Any]]], first: int, block_ticks: int
) -> None:
    """Any consecutive records that form a batch give the same as the record reader."""
    raws = [record(first + place, row) for place, row in enumerate(content)]
    batch = read_batch(raws, LAYOUTS, RECEIVED_NS)
    if batch is not None:
        assert_agrees(batch, read_singly(raws), block_ticks)


def test_an_agents_records_form_a_batch() -> None:
    """They have the same fields with different values; events and extras are included."""
    extras = [EXTRAS[1], EXTRAS[3]]
    raws = [
        make_record(130 + n, LAYOUT, [None, *[float(n)] * 10], unavailable=n + 1, tenancy=3, **extras[n % 2])
        for n in range(100)
    ]
    batch = read_batch(raws, LAYOUTS, RECEIVED_NS)
    assert batch is not None
    assert (batch.first, batch.following) == (130, 230)
    assert [record.events[0].kind for record in batch.event_records] == ["oom_kill"]
    assert_agrees(batch, read_singly(raws), 60)


GOOD = make_record(500, LAYOUT, unavailable=7)


@pytest.mark.parametrize(
    "odd",
    [
        make_record(502, LAYOUT, unavailable=7),
        make_record(500, LAYOUT, unavailable=7),
        make_record(501, LAYOUT),
        make_record(501, LAYOUT, [None] * 11, unavailable=7),
        make_record(501, OTHER, unavailable=7),
        make_record(501, OTHER, digest=LAYOUT.digest, unavailable=7),
        make_record(501, LAYOUT, digest=1, unavailable=7),
        make_record(501, LAYOUT, start_ns=-(2**61), unavailable=7),
        make_record(501, LAYOUT, start_ns=2**62, unavailable=7),
        make_record(501, LAYOUT, unavailable=7)[:-3],
        make_record(501, LAYOUT, unavailable=7, events=[pb.HostEvent(text="x" * 300_000)]),
        make_record(501, LAYOUT, unavailable=7) + pb.Record(sequence=9).SerializeToString(),
        make_record(501, LAYOUT, unavailable=7, steps=[pb.StepReport()]) + b"\x08\x00",
        make_record(501, LAYOUT, unavailable=7) + b"\xff\xff",
        b"",
    ],
)
def test_records_of_different_shape_are_not_a_batch(odd: bytes) -> None:
    """A gap, a repetition, another layout, missing or extra bytes: nothing is guessed."""
    for raws in ([GOOD, odd], [odd, make_record(502, LAYOUT, unavailable=7)]):
        assert read_batch(raws, LAYOUTS, RECEIVED_NS) is None


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.booleans())
def test_a_damaged_byte_is_never_misread(place: int, byte: int, leading: bool) -> None:
    """With any byte of a record changed, a batch still gives only what the reader gives."""
    damaged = GOOD[:place] + bytes([byte]) + GOOD[place + 1 :]
    before, after = (make_record(sequence, LAYOUT, unavailable=7) for sequence in (499, 501))
    raws = [damaged, after] if leading else [before, damaged]
    batch = read_batch(raws, LAYOUTS, RECEIVED_NS)
    if batch is None:
        return
    try:
        ticks = read_singly(raws)
    except Malformed:
        pytest.fail("a batch of what the door refuses")
    assert_agrees(batch, ticks, 60)
