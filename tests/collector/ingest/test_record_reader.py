"""The record reader: a valid record comes out unchanged, an invalid one is refused with a reason."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.ingest.record_reader import RecordReader, leading_sequence
from flyball_collector.ingest.rejection import Malformed
from flyball_collector.testing import make_layout, make_record
from flyball_collector.tick import KnownLayout
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = make_layout(11)
EPOCH = b"e" * 16


def reader() -> RecordReader:
    return RecordReader("host1", {LAYOUT.digest: KnownLayout(LAYOUT)})


@given(st.lists(st.none() | st.integers(-(2**40), 2**40).map(float), min_size=11, max_size=11), st.integers(0, 2**53))
def test_a_record_becomes_a_tick(values: list[float | None], sequence: int) -> None:
    """Values, validity, times and digests are those that were sent; unknown stays unknown."""
    raw = make_record(sequence, LAYOUT, values, interval_ms=0, unavailable=7, tenancy=8)
    tick = reader().read(raw, EPOCH, 99)
    valid = tick.valid if tick.valid is not None else np.ones(11, np.bool_)
    found = [float(v) / 10 if ok else None for v, ok in zip(tick.values, valid, strict=True)]
    assert found == values
    assert (tick.host, tick.epoch, tick.sequence, tick.received_ns) == ("host1", EPOCH, sequence, 99)
    assert (tick.unavailable, tick.tenancy, tick.extras) == (7, 8, b"")


def test_extras_are_kept_without_the_columns() -> None:
    """Steps, events and processes are kept."""
    raw = make_record(3, LAYOUT, steps=[pb.StepReport(run="r", step=5)], events=[pb.HostEvent(kind="oom_kill")])
    extras = pb.Record.FromString(reader().read(raw, EPOCH, 1).extras)
    assert (extras.steps[0].step, extras.events[0].kind) == (5, "oom_kill")
    assert not extras.values
    assert not extras.sequence


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (make_record(5, make_layout(4)), "layout"),
        (make_record(5, make_layout(4), digest=LAYOUT.digest), "values"),
        (make_record(5, LAYOUT, start_ns=-(2**61)), "time"),
        (make_record(5, LAYOUT)[:-20], "unreadable"),
        (make_record(5, LAYOUT, events=[pb.HostEvent(text="x" * 300_000)]), "extras"),
    ],
)
def test_invalid_records_have_a_reason(raw: bytes, reason: str) -> None:
    """Each fault has its own reason, and the sequence is known, so that it can be settled."""
    with pytest.raises(Malformed) as caught:
        reader().read(raw, EPOCH, 1)
    assert caught.value.reason == reason
    assert caught.value.sequence == 5


def test_validity_of_the_wrong_size_is_refused() -> None:
    """There must be exactly one bit for each column."""
    record = pb.Record.FromString(make_record(5, LAYOUT))
    record.validity = b"\xff\xff\xff"
    with pytest.raises(Malformed, match="validity"):
        reader().read(record.SerializeToString(), EPOCH, 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_tick_or_malformed(raw: bytes) -> None:
    """No other exception is raised."""
    try:
        reader().read(raw, EPOCH, 1)
    except Malformed as error:
        assert error.sequence is None or 0 <= error.sequence < 1 << 64  # noqa: PT017  a tick is right, too


@given(st.integers(0, 2**64 - 1))
def test_the_leading_sequence_is_decoded(sequence: int) -> None:
    """The result is the same as protobuf's."""
    assert leading_sequence(pb.Record(sequence=sequence, time_ns=1).SerializeToString()) == sequence
